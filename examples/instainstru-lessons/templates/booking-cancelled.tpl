---
key: booking-cancelled
name: Lesson cancelled
type: booking.cancelled
channel: email
subject: Your lesson is cancelled
---
Dear {{studentName}},
lesson {{bookingId}} of {{startsAt | datetime:d MMMM yyyy, HH:mm}} is cancelled.
