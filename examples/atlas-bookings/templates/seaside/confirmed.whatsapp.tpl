---
key: confirmed
name: Booking confirmed
type: booking.confirmed
channel: whatsapp
locale: en-IN
provider_template: booking_confirmed
provider_params:
  1 = {{guestName}}
  2 = {{checkinDate}}
---
Namaste {{guestName}}, your booking {{bookingId}} at {{listingName}} is confirmed: {{checkinDate}} to {{checkoutDate}}.
We will write to {{guestPhone}}.
