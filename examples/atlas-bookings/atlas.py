"""The application: bookings in its own tables, and what happened to them in the outbox, in one transaction (psycopg2)."""
import json
from datetime import datetime, timezone

TOPIC = "booking.events"


class Atlas:
    """One tenant's bookings, on a connection of the application's own."""

    def __init__(self, connection, tenant):
        self.connection = connection
        self.tenant = tenant

    def add_guest(self, guest, name, phone, email):
        self.run("INSERT INTO atlas.guest VALUES (%s, %s, %s, %s, %s)", self.tenant, guest, name, phone, email)
        self.connection.commit()

    def add_listing(self, listing, name):
        self.run("INSERT INTO atlas.listing VALUES (%s, %s, %s)", self.tenant, listing, name)
        self.connection.commit()

    def book(self, booking, guest, listing, checkin, checkout):
        self.run("INSERT INTO atlas.booking (tenant, id, guest_id, listing_id, checkin_date, checkout_date) VALUES (%s, %s, %s, %s, %s, %s)",
                 self.tenant, booking, guest, listing, checkin, checkout)
        self.connection.commit()

    def confirm(self, booking, commit=True):
        """The new status and what is to be told about it: both, or neither. Gives the ids of the two messages.

        It does not look whether the booking was confirmed already, as two requests of a double click do not see each other either.
        """
        life = self.run("UPDATE atlas.booking SET life = life + (status = 'Cancelled')::int, status = 'Confirmed'"
                        " WHERE tenant = %s AND id = %s RETURNING life", self.tenant, booking).fetchone()[0]
        told = [self.record("booking.confirmed", booking, life), self.record("booking.reminder", booking, life)]
        self.connection.commit() if commit else self.connection.rollback()
        return told

    def cancel(self, booking):
        self.run("UPDATE atlas.booking SET status = 'Cancelled' WHERE tenant = %s AND id = %s", self.tenant, booking)
        self.connection.commit()

    def record(self, event, booking, life=1):
        """One row of the outbox. The first confirmation carries no version: its key is {booking}:{event}:{channel}:{template}. Taken up
        again after a cancellation it is another fact, and says so."""
        return self.run(
            "INSERT INTO postrider.outbox (tenant, topic, type, entity_id, version, payload, schema_version)"
            " VALUES (%s, %s, %s, %s, %s, %s, '1') RETURNING id",
            self.tenant, TOPIC, event, str(booking), None if life == 1 else str(life), json.dumps(self.payload(booking))).fetchone()[0]

    def payload(self, booking):
        row = self.run("SELECT b.guest_id, b.listing_id, b.status, b.checkin_date, b.checkout_date, g.phone, g.email"
                       " FROM atlas.booking b JOIN atlas.guest g ON g.tenant = b.tenant AND g.id = b.guest_id"
                       " WHERE b.tenant = %s AND b.id = %s", self.tenant, booking).fetchone()
        if row is None:
            return {"bookingId": booking}
        guest, listing, status, checkin, checkout, phone, email = row
        return {"bookingId": booking, "guestId": guest, "listingId": listing, "bookingStatus": status,
                "checkinDate": f"{checkin}T00:00:00Z", "checkoutDate": f"{checkout}T00:00:00Z", "guestPhone": phone, "guestEmail": email,
                "occurredAtUtc": datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")}

    def status(self, booking):
        return self.run("SELECT status FROM atlas.booking WHERE tenant = %s AND id = %s", self.tenant, booking).fetchone()[0]

    def run(self, sql, *values):
        cursor = self.connection.cursor()
        cursor.execute(sql, values)
        return cursor
