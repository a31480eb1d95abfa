---
key: week-copied
name: Week copied
type: availability.week_copied
channel: email
subject: Your week of {{weekStart | date:d MMMM yyyy}}
---
Dear {{instructorName}},
this week is a copy: {{#slots}}{{.}} {{/slots}}
