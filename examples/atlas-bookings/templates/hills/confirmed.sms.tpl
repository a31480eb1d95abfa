---
key: confirmed
name: Booking confirmed
type: booking.confirmed
channel: sms
locale: en-IN
---
The hills await you, {{guestName}}: {{listingName}}, {{checkinDate}}.
