-- The application's own tables; the same for SQLite and PostgreSQL. Moments are texts in UTC, as the application writes them.
CREATE TABLE instructor (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL,
  email TEXT NOT NULL
);

CREATE TABLE lesson (
  id            INTEGER PRIMARY KEY,
  instructor_id INTEGER NOT NULL REFERENCES instructor (id),
  student_name  TEXT NOT NULL,
  student_email TEXT NOT NULL,
  starts_at     TEXT NOT NULL,
  status        TEXT NOT NULL,
  created_at    TEXT NOT NULL,
  cancelled_at  TEXT,
  completed_at  TEXT
);

CREATE TABLE week (
  instructor_id INTEGER NOT NULL REFERENCES instructor (id),
  week_start    TEXT NOT NULL,
  slots         TEXT NOT NULL,  -- JSON: ["Mon 09:00", "Tue 10:00"]
  PRIMARY KEY (instructor_id, week_start)
);
