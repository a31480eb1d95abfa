---
key: booking-completed
name: Lesson completed
type: booking.completed
channel: email
subject: How was your lesson?
---
Dear {{studentName}},
thank you for your lesson with {{instructorName}}.
