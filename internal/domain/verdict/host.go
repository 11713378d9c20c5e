package verdict

import (
	"fmt"
	"strings"
	"time"
)

func hostCauses() []cause {
	return []cause{
		{id: "config", part: PartConfig, severity: Critical, who: Operator,
			explains: Parts(), next: Next{Do: "Correct the config.", Command: "opdeck config check"},
			found: of(func(f Facts) Fact[Config] { return f.Config }, func(_ Facts, c Config) (string, string, time.Time) {
				if len(c.Mistakes) == 0 {
					return "", "", time.Time{}
				}
				return "The config has " + count(int64(len(c.Mistakes)), "mistake", "mistakes") + ": " + c.Mistakes[0],
					strings.Join(c.Mistakes, "; "), time.Time{}
			})},
		{id: "password_missing", part: PartSession, severity: Critical, who: Operator,
			explains: []Part{PartSession, PartIndex},
			next: Next{Do: "Correct password_env, password_file or password_command of the context.",
				Command: "opdeck doctor"},
			found: of(func(f Facts) Fact[Password] { return f.Password }, func(_ Facts, p Password) (string, string, time.Time) {
				if p.Fault == "" {
					return "", "", time.Time{}
				}
				return "The password of the machine account is not available: " + strings.TrimRight(p.Fault, ". ") + ".", p.Source,
					time.Time{}
			})},
		{id: "port", part: PartFeed, severity: Critical, who: Operator, explains: []Part{PartFeed},
			next:  Next{Do: "Stop the other program, or configure another address.", Command: "opdeck config check"},
			found: portFaults},
	}
}

func portFaults(f Facts) []hit {
	var out []hit
	for _, one := range f.Ports {
		p, known := one.at(f.Now)
		if !known || p.Fault == "" {
			continue
		}
		h := hit{says: fmt.Sprintf("opdeck does not listen for %s on %s: %s.", p.Name, p.Addr, p.Fault), since: p.Since,
			evidence: []Evidence{one.evidence(p.Addr + ": " + p.Fault)}}
		if h.since.IsZero() {
			h.since = one.At
		}
		out = append(out, h)
	}
	return out
}

func storeCauses() []cause {
	row := func(state StoreState, says, do string, who Who) cause {
		return cause{id: Cause("store_" + string(state)), part: PartStore, severity: Critical, who: who,
			explains: []Part{PartSession, PartBudget, PartIndex, PartFeed, PartAudit, PartWrites},
			next:     Next{Do: do, Command: "opdeck doctor"},
			found: of(func(f Facts) Fact[Store] { return f.Store }, func(_ Facts, s Store) (string, string, time.Time) {
				if s.State != state {
					return "", "", time.Time{}
				}
				sentence := strings.NewReplacer("{engine}", s.Engine, "{where}", s.Where, "{holder}", s.Holder).Replace(says)
				shows := s.Engine + " at " + s.Where
				if s.Says != "" {
					sentence += ` It says: "` + strings.TrimRight(s.Says, ". ") + `".`
					shows += ": " + s.Says
				}
				return sentence, shows, s.Since
			})}
	}
	const kept = " No process logs in or refreshes without it."
	older := row(StoreOlder, "The shared store at {where} belongs to an older version of opdeck and was not migrated.",
		"Stop the older program and migrate the store.", Admin)
	older.next.Command = "opdeck migrate"
	return []cause{
		row(StoreAbsent, "The shared store ({engine} at {where}) does not answer."+kept,
			"Start the database or fix the network.", Admin),
		row(StoreLogin, "The shared store ({engine} at {where}) refuses opdeck's user or password."+kept,
			"Correct the user or password in [store] url.", Admin),
		row(StoreMissing, "The database of the shared store ({engine} at {where}) does not exist."+kept,
			"Correct [store] url, or restore the database from a backup.", Admin),
		row(StoreBusy, "The shared store ({engine} at {where}) has no free connection."+kept,
			"Raise max_connections, or stop programs that keep connections.", Admin),
		row(StoreReadOnly, "The shared store ({engine} at {where}) is read-only."+kept,
			"Use the primary server, or mount the disk for writing.", Admin),
		row(StoreDenied, "The permissions of {where} do not let this user write the shared store."+kept,
			"Correct the owner and mode of the file and its folder.", Operator),
		row(StoreLocked, "Another process has locked the shared store at {where}: {holder}."+kept,
			"Resume that process, or end it.", Operator),
		row(StoreFull, "The disk of the shared store at {where} is full."+kept, "Free some disk space.", Operator),
		row(StoreDeleted, "The file of the shared store at {where} was deleted or replaced."+kept,
			"Stop every opdeck process. Then restore the file from a backup, or start without it, which costs one login.",
			Admin),
		row(StoreDamaged, "The shared store at {where} is damaged."+kept,
			"Stop every opdeck process and restore the file from a backup.", Admin),
		row(StoreFailing, "The disk of the shared store at {where} reports errors."+kept,
			"Check the disk and the system's log.", Operator),
		row(StoreNewer, "A newer version of opdeck has changed the shared store at {where}; this version cannot use it.",
			"Install the same version on every host.", Admin),
		older,
	}
}

func keyCauses() []cause {
	const tokens = "the tokens in the shared store"
	says := map[KeyFault]string{
		KeyMissing:  "The key file {file} is missing. It seals " + tokens,
		KeyUnusable: "The key file {file}, which seals " + tokens + ", {says}",
		KeyOther:    "The key file {file} holds another key than the one that seals " + tokens,
	}
	row := func(id Cause, fault KeyFault, held bool, tail string, next Next) cause {
		c := cause{id: id, part: PartStore, severity: Critical, who: Admin, next: next,
			explains: []Part{PartSession, PartBudget, PartIndex, PartFeed, PartAudit, PartWrites}}
		if held {
			c.severity, c.explains = Warning, nil
		}
		c.found = of(func(f Facts) Fact[Key] { return f.Key }, func(_ Facts, k Key) (string, string, time.Time) {
			if k.Fault != fault || k.Held != held {
				return "", "", time.Time{}
			}
			text := strings.NewReplacer("{file}", k.File, "{says}", k.Says).Replace(says[fault])
			return text + tail, k.File + ": " + string(k.Fault), time.Time{}
		})
		return c
	}
	var out []cause
	for _, fault := range []KeyFault{KeyMissing, KeyUnusable, KeyOther} {
		out = append(out,
			row("key_"+Cause(fault), fault, false, "; opdeck makes no other one and does not log in.",
				Next{Do: "Put the right file back, from a backup or another host. Only if it is lost: move away what is in its " +
					"place and give up the stored tokens, which costs one login.", Command: "opdeck session reset --new-key"}),
			row("key_"+Cause(fault)+"_held", fault, true, ". This process has the right key in memory; no other one can start.",
				Next{Do: "Put the right file back, from a backup or another host, before this process ends.",
					Command: "opdeck doctor"}))
	}
	return append(out, row("key_given_up", KeyGivenUp, false, "The key of this process no longer seals "+tokens+
		": they were given up for another key.",
		Next{Do: "Restart this process with the new key.", Command: "opdeck doctor"}))
}

// clockWarns is the clock difference from which on tokens seem to expire at another time.
const clockWarns = 30 * time.Second

func clockCauses() []cause {
	return []cause{{id: "clock", part: PartClock, severity: Warning, who: Operator,
		next: Next{Do: "Correct that clock (NTP).", Command: "opdeck doctor"},
		found: of(func(f Facts) Fact[Clock] { return f.Clock }, func(f Facts, c Clock) (string, string, time.Time) {
			who, off := c.Host, c.Ahead
			if c.Database.Abs() > off.Abs() {
				who, off = "the database", c.Database
			}
			if off.Abs() < clockWarns {
				return "", "", time.Time{}
			}
			way := "ahead of"
			if off < 0 {
				way = "behind"
			}
			says := fmt.Sprintf("The clock of %s is %s %s that of the service.", who, span(off.Abs()), way)
			return says, "difference " + span(off.Abs()) + ", from the Date of an answer", time.Time{}
		})}}
}
