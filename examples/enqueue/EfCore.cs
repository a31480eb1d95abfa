// NOT RUN by the tests: .NET is not in Debian 12. Shown for its shape: one entity, saved with your own change by one SaveChanges().
using System.ComponentModel.DataAnnotations.Schema;
using Microsoft.EntityFrameworkCore;

[Table("outbox", Schema = "postrider")]
public class OutboxMessage
{
    [Column("id")] public Guid Id { get; set; } = Guid.NewGuid();
    [Column("type")] public string Type { get; set; } = "";
    [Column("payload", TypeName = "json")] public string Payload { get; set; } = "{}";
    [Column("entity_id")] public string? EntityId { get; set; }
    [Column("version")] public string? Version { get; set; }
    [Column("idempotency_key")] public string? IdempotencyKey { get; set; }
    [Column("tenant")] public string Tenant { get; set; } = "default";
    [Column("due_at")] public DateTimeOffset? DueAt { get; set; }
    [Column("expires_at")] public DateTimeOffset? ExpiresAt { get; set; }
}

// In your DbContext:      public DbSet<OutboxMessage> Outbox => Set<OutboxMessage>();
// In OnModelCreating:     modelBuilder.Entity<OutboxMessage>().ToTable("outbox", "postrider", t => t.ExcludeFromMigrations());
// In your unit of work:   booking.Status = "Confirmed";
//                         context.Outbox.Add(new OutboxMessage { Type = "booking.confirmed", EntityId = booking.Id,
//                             IdempotencyKey = $"booking:{booking.Id}:confirmed:{booking.Version}", Payload = json });
//                         await context.SaveChangesAsync();   // one transaction: both or neither
