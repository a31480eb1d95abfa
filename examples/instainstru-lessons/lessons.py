"""The application: lessons that are booked, and weeks in which instructors are free. Every change records what happened in its own
transaction, under a key that says the same fact the same way each time. SQLite and PostgreSQL (psycopg2)."""
import contextlib
import hashlib
import json
import sqlite3


class Lessons:
    def __init__(self, connection):
        self.connection = connection
        self.sqlite = isinstance(connection, sqlite3.Connection)
        self.outbox = "postrider_outbox" if self.sqlite else "postrider.outbox"

    def add_instructor(self, instructor, name, email):
        with self.transaction() as run:
            run("INSERT INTO instructor VALUES (?, ?, ?)", instructor, name, email)

    # Bookings: the version of a fact is the moment at which it became true, and that is in the row. Asked again, the row says the same.

    def create_booking(self, booking, instructor, student, starts_at, now):
        name, email = student
        with self.transaction() as run:
            run("INSERT INTO lesson (id, instructor_id, student_name, student_email, starts_at, status, created_at)"
                " VALUES (?, ?, ?, ?, ?, 'booked', ?) ON CONFLICT (id) DO NOTHING", booking, instructor, name, email, starts_at, now)
            return self.tell_booking(run, booking, "booking.created", "created_at")

    def cancel_booking(self, booking, now):
        with self.transaction() as run:
            run("UPDATE lesson SET status = 'cancelled', cancelled_at = COALESCE(cancelled_at, ?) WHERE id = ?", now, booking)
            return self.tell_booking(run, booking, "booking.cancelled", "cancelled_at")

    def complete_booking(self, booking, now):
        with self.transaction() as run:
            run("UPDATE lesson SET status = 'completed', completed_at = COALESCE(completed_at, ?) WHERE id = ?", now, booking)
            return self.tell_booking(run, booking, "booking.completed", "completed_at")

    # Weeks: the version is a hash of what is in them. The same week saved again is the same fact.

    def save_week(self, instructor, week_start, slots):
        with self.transaction() as run:
            self.put_week(run, instructor, week_start, slots)
            return self.tell_week(run, instructor, week_start, "availability.week_saved", slots)

    def copy_week(self, instructor, from_week, to_week):
        with self.transaction() as run:
            slots = json.loads(run("SELECT slots FROM week WHERE instructor_id = ? AND week_start = ?", instructor, from_week)[0][0])
            self.put_week(run, instructor, to_week, slots)
            return self.tell_week(run, instructor, to_week, "availability.week_copied", slots)

    def put_week(self, run, instructor, week_start, slots):
        run("INSERT INTO week VALUES (?, ?, ?) ON CONFLICT (instructor_id, week_start) DO UPDATE SET slots = excluded.slots",
            instructor, week_start, json.dumps(sorted(slots)))

    def tell_booking(self, run, booking, event, moment):
        row = run(f"SELECT l.{moment}, l.student_name, l.student_email, l.starts_at, l.status, i.name FROM lesson l"
                  " JOIN instructor i ON i.id = l.instructor_id WHERE l.id = ?", booking)[0]
        version, student, email, starts_at, status, instructor = row
        return self.tell(run, f"booking:{booking}", event, version, {
            "bookingId": booking, "studentName": student, "studentEmail": email, "instructorName": instructor, "startsAt": starts_at,
            "status": status})

    def tell_week(self, run, instructor, week_start, event, slots):
        name, email = run("SELECT name, email FROM instructor WHERE id = ?", instructor)[0]
        version = hashlib.sha256(json.dumps(sorted(slots)).encode()).hexdigest()[:12]
        return self.tell(run, f"avail:{instructor}:{week_start}", event, version, {
            "instructorName": name, "instructorEmail": email, "weekStart": week_start, "slots": sorted(slots)})

    def tell(self, run, entity, event, version, payload):
        """The one INSERT. Gives the message's id and its key, booking:{id}:{type}:{version} or avail:{instructor}:{week}:{type}:{version}."""
        key = f"{entity}:{event}:{version}"
        row = run(f"INSERT INTO {self.outbox} (type, entity_id, version, idempotency_key, payload) VALUES (?, ?, ?, ?, ?) RETURNING id",
                  event, entity, version, key, json.dumps(payload))[0]
        return str(row[0]), key

    @contextlib.contextmanager
    def transaction(self):
        """Everything inside, or nothing of it."""
        cursor = self.connection.cursor()

        def run(sql, *values):
            cursor.execute(sql if self.sqlite else sql.replace("?", "%s"), values)
            return cursor.fetchall() if cursor.description else []

        if self.sqlite:
            cursor.execute("BEGIN IMMEDIATE")
        try:
            yield run
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.commit()
