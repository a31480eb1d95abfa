---
key: booking-created
name: Lesson booked
type: booking.created
channel: email
subject: Your lesson with {{instructorName}}
---
Dear {{studentName}},
your lesson {{bookingId}} with {{instructorName}} is booked: {{startsAt | datetime:d MMMM yyyy, HH:mm}}.
