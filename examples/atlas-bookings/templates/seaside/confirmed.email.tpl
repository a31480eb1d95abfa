---
key: confirmed
name: Booking confirmed
type: booking.confirmed
channel: email
locale: en-IN
subject: Booking {{bookingId}} is {{bookingStatus}}
---
Dear {{guestName}},

we expect you at {{listingName}} from {{checkinDate}} to {{checkoutDate}}.
--- html ---
<p>Dear {{guestName}},</p>
<p>we expect you at <b>{{listingName}}</b> from {{checkinDate}} to {{checkoutDate}}.</p>
