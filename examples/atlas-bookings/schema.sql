-- The application's own tables. Nothing here knows of Postrider, and Postrider only ever reads them.
CREATE SCHEMA atlas;

CREATE TABLE atlas.guest (
  tenant text NOT NULL,
  id     bigint NOT NULL,
  name   text NOT NULL,
  phone  text,          -- E.164, as the guest gave it: +919876543210
  email  text,
  PRIMARY KEY (tenant, id)
);

CREATE TABLE atlas.listing (
  tenant text NOT NULL,
  id     bigint NOT NULL,
  name   text NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE TABLE atlas.booking (
  tenant        text NOT NULL,
  id            bigint NOT NULL,
  guest_id      bigint NOT NULL,
  listing_id    bigint NOT NULL,
  status        text NOT NULL DEFAULT 'Pending',  -- Pending, Confirmed, Cancelled, Expired
  life          integer NOT NULL DEFAULT 1,       -- how often it was taken up: confirmed after a cancellation is another fact
  checkin_date  date NOT NULL,
  checkout_date date NOT NULL,
  PRIMARY KEY (tenant, id),
  FOREIGN KEY (tenant, guest_id) REFERENCES atlas.guest (tenant, id),
  FOREIGN KEY (tenant, listing_id) REFERENCES atlas.listing (tenant, id)
);
