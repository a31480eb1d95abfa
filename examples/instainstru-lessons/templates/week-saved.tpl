---
key: week-saved
name: Week saved
type: availability.week_saved
channel: email
subject: Your week of {{weekStart | date:d MMMM yyyy}}
---
Dear {{instructorName}},
you are free at:
{{#slots}}
* {{.}}
{{/slots}}
{{^slots}}
no time at all
{{/slots}}
