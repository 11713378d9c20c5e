package verdict

import (
	"strings"
	"time"
)

func trailCauses() []cause {
	audit := func(f Facts) Fact[Audit] { return f.Audit }
	writes := func(f Facts) Fact[Writes] { return f.Writes }
	return []cause{
		{id: "audit_broken", part: PartAudit, severity: Critical, who: Admin,
			next: Next{Do: "Do not change the store or the checkpoint files. Find out who restored or changed the state.",
				Command: "opdeck audit verify"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if len(a.Broken) == 0 {
					return "", "", time.Time{}
				}
				return "The audit trail does not verify: " + strings.TrimRight(a.Broken[0], ". ") + ".",
					strings.Join(a.Broken, "; "), a.Since
			})},
		{id: "audit_key", part: PartAudit, severity: Warning, who: Admin, explains: []Part{PartWrites},
			next: Next{Do: "Create the key of this host, or restore its old key from a backup.",
				Command: "opdeck audit checkpoint --new-key"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if !a.NoKey {
					return "", "", time.Time{}
				}
				return "This host has no audit key, so opdeck sends no writes from here.", "a trail that began on another host",
					a.Since
			})},
		{id: "audit_unwritable", part: PartAudit, severity: Critical, who: Admin, explains: []Part{PartWrites},
			next: Next{Do: "Check the disk or the database of the store.", Command: "opdeck doctor"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if a.Writable {
					return "", "", time.Time{}
				}
				return "The audit trail cannot be written; writes are off.", "the last record was not stored", a.Since
			})},
		{id: "writes_in_doubt", part: PartWrites, severity: Warning, dated: true, who: Operator,
			next: Next{Do: "Check the object of each write before anyone repeats it.", Command: "opdeck audit unsettled"},
			found: of(writes, func(f Facts, w Writes) (string, string, time.Time) {
				if w.Doubtful == 0 {
					return "", "", time.Time{}
				}
				return count(w.Doubtful, "write has", "writes have") + " an unknown outcome, the oldest since " + moment(w.Oldest,
						f.Now) +
						".",
					"sent at " + moment(w.Oldest, f.Now), w.Oldest
			})},
		{id: "jobs_stuck", part: PartWrites, severity: Warning, who: Operator,
			next: Next{Do: "Resume or abandon them.", Command: "opdeck document resume"},
			found: of(writes, func(_ Facts, w Writes) (string, string, time.Time) {
				if w.Stuck == 0 {
					return "", "", time.Time{}
				}
				return count(w.Stuck, "replacement was", "replacements were") + " interrupted between two steps.",
					count(w.Stuck, "open job", "open jobs"), w.StuckSince
			})},
	}
}

// RejectedWebhooks is the cause of rejected deliveries.
const RejectedWebhooks Cause = "webhooks_rejected"

// rejectedQuiet is how long no delivery may have been rejected until an accepted one shows that the setting is right.
const rejectedQuiet = 10 * time.Minute

func feedCauses() []cause {
	feed := func(f Facts) Fact[Feed] { return f.Feed }
	return []cause{
		{id: RejectedWebhooks, part: PartFeed, severity: Warning, dated: true, who: Operator, explains: []Part{PartFeed},
			next: Next{Do: "Correct the setting that the reason names, here or at the service.",
				Command: "opdeck event list --rejected"},
			found: of(feed, func(f Facts, d Feed) (string, string, time.Time) {
				if d.Rejected == 0 || d.Last.After(d.At) && f.Now.Sub(d.At) > rejectedQuiet {
					return "", "", time.Time{}
				}
				return "The receiver rejected " + count(d.Rejected, "delivery", "deliveries") + ", the last one at " + moment(d.At,
					f.Now) +
					": " + strings.TrimRight(d.Why, ". ") + ".", d.Why, d.At
			})},
		{id: "feed_stalled", part: PartFeed, severity: Warning, dated: true, who: Operator,
			next: Next{Do: "Compare the address and secret with the service's settings, then check the proxy.",
				Command: "opdeck hook get"},
			found: of(feed, func(f Facts, d Feed) (string, string, time.Time) {
				if !d.Expected || !d.Stalled {
					return "", "", time.Time{}
				}
				return "No webhook has arrived since " + moment(d.Last, f.Now) + "; usually one arrives within " + span(d.Usual) +
						".",
					"the last event at " + moment(d.Last, f.Now), d.Last
			})},
		{id: "events_waiting", part: PartFeed, severity: Warning, dated: true, who: Operator,
			next: Next{Do: "Read the reason; opdeck tries again by itself.", Command: "opdeck event list --waiting"},
			found: of(feed, func(f Facts, d Feed) (string, string, time.Time) {
				if d.Waiting == 0 {
					return "", "", time.Time{}
				}
				return count(d.Waiting, "event is", "events are") + " not merged into the index, the oldest since " +
					moment(d.Oldest, f.Now) +
					".", "received at " + moment(d.Oldest, f.Now), d.Oldest
			})},
	}
}

// indexLate is how many times its planned age the index may reach.
const indexLate = 3

func indexCauses() []cause {
	return []cause{{id: "index_old", part: PartIndex, severity: Warning, who: Operator,
		next: Next{Do: "Check why the sync has stopped.", Command: "opdeck index status"},
		found: of(func(f Facts) Fact[Index] { return f.Index }, func(f Facts, i Index) (string, string, time.Time) {
			if i.AsOf.IsZero() || i.Due <= 0 || f.Now.Sub(i.AsOf) <= indexLate*i.Due {
				return "", "", time.Time{}
			}
			says := "The lists are " + span(f.Now.Sub(i.AsOf)) + " old."
			if i.Error != "" {
				says += " The last sync failed: " + strings.TrimRight(i.Error, ". ") + "."
			}
			return says, "as of " + day(i.AsOf), i.AsOf
		})}}
}
