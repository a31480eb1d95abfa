// usage: java -cp /usr/share/java/postgresql.jar Jdbc.java jdbc:postgresql://host:port/database USER PASSWORD   (Debian: libpostgresql-jdbc-java)
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;

public class Jdbc {
  public static void main(String[] arguments) throws Exception {
    try (Connection connection = DriverManager.getConnection(arguments[0], arguments[1], arguments[2])) {
      connection.createStatement().execute("CREATE TABLE IF NOT EXISTS booking (id text PRIMARY KEY, status text NOT NULL)");
      connection.setAutoCommit(false);
      try (PreparedStatement change = connection.prepareStatement(
               "INSERT INTO booking VALUES (?, 'confirmed') ON CONFLICT (id) DO UPDATE SET status = 'confirmed'");
           PreparedStatement outbox = connection.prepareStatement(
               "INSERT INTO postrider.outbox (type, entity_id, idempotency_key, payload) VALUES (?, ?, ?, ?::json) RETURNING id")) {
        change.setString(1, "java-1");
        change.executeUpdate();
        outbox.setString(1, "booking.confirmed");
        outbox.setString(2, "java-1");
        outbox.setString(3, "booking:java-1:confirmed:1");
        outbox.setString(4, "{\"bookingId\": \"java-1\"}");
        try (ResultSet id = outbox.executeQuery()) {
          id.next();
          connection.commit();
          System.out.println(id.getString(1));
        }
      } catch (Exception problem) {
        connection.rollback();
        throw problem;
      }
    }
  }
}
