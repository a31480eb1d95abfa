---
key: reminder
name: A day before
type: booking.reminder
channel: sms
locale: en-IN
---
{{guestName}}, tomorrow you are at {{listingName}}. Booking {{bookingId}}.
