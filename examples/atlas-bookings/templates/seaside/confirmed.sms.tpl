---
key: confirmed
name: Booking confirmed
type: booking.confirmed
channel: sms
locale: en-IN
---
Booking {{bookingId}} at {{listingName}} is confirmed, {{checkinDate}} to {{checkoutDate}}.
