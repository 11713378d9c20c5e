package verdict

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/format"
)

// Cause names a row of the table.
type Cause string

// cause is a row of the table: the condition with its sentence, and what to do.
type cause struct {
	id       Cause
	part     Part
	severity Severity
	found    func(Facts) []hit
	explains []Part // findings about these parts follow from it
	next     Next
	who      Who
	dated    bool // its sentence has the time of Since
	here     bool // of this host: others may not have it
}

// hit is a cause that applies. next and who override those of the row.
type hit struct {
	says     string
	since    time.Time // zero: the facts do not tell
	of       string    // which one, of several at a time; "": there is one at most
	evidence []Evidence
	next     Next
	who      Who
	try      time.Time
}

// tried is when opdeck tries again by itself what failed; zero: not known.
func (h hit) tried(now time.Time) time.Time {
	if h.try.After(now) {
		return h.try
	}
	return time.Time{}
}

// causes returns the table, in causal order: what is above can bring about what is below.
func causes() []cause {
	var out []cause
	for _, rows := range [][]cause{hostCauses(), storeCauses(), keyCauses(), clockCauses(), reachCauses(), loginCauses(),
		sessionCauses(), trailCauses(), serveCauses(), feedCauses(), indexCauses()} {
		out = append(out, rows...)
	}
	return out
}

// of is a condition on one fact: says returns "" where it does not apply.
func of[T any](fact func(Facts) Fact[T], says func(Facts, T) (sentence, evidence string,
	since time.Time)) func(Facts) []hit {
	return func(f Facts) []hit {
		one := fact(f)
		value, known := one.at(f.Now)
		if !known {
			return nil
		}
		sentence, shows, since := says(f, value)
		if sentence == "" {
			return nil
		}
		return []hit{{says: sentence, since: since, evidence: []Evidence{one.evidence(shows)}}}
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// moment is the time of day, with the day if that is not clear.
func moment(t, now time.Time) string {
	if now.Sub(t).Abs() > 20*time.Hour {
		return day(t)
	}
	return clock(t)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func quoted(said string) string {
	if said == "" {
		return ""
	}
	return ` It says: "` + strings.TrimRight(said, ". ") + `".`
}

func span(d time.Duration) string {
	return format.Duration(d.Round(time.Second))
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func hostCauses() []cause {
	return []cause{
		{id: "config", part: PartConfig, severity: Critical, who: Operator,
			explains: Parts(), next: Next{Do: "Correct the config.", Command: "opdeck config check"},
			found: of(func(f Facts) Fact[Config] { return f.Config }, func(_ Facts, c Config) (string, string, time.Time) {
				if len(c.Mistakes) == 0 {
					return "", "", time.Time{}
				}
				return "The config has " + count(int64(len(c.Mistakes)), "mistake", "mistakes") + ": " + c.Mistakes[0],
					strings.Join(c.Mistakes, "; "), c.Changed
			})},
		{id: "password_missing", part: PartSession, severity: Critical, who: Operator, here: true,
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
		{id: "config_outdated", part: PartConfig, severity: Warning, who: Operator,
			next:  Next{Do: "Restart that process: until then it works, and reports faults, with what it has read."},
			found: outdated},
	}
}

func outdated(f Facts) []hit {
	var out []hit
	for _, one := range f.Outdated {
		if p, known := one.at(f.Now); known {
			out = append(out, hit{says: fmt.Sprintf("Process %d of %s runs with an older config than %s has now.", p.PID, p.Host,
				p.File), of: fmt.Sprintf("%d of %s", p.PID, p.Host), evidence: []Evidence{one.evidence("the file has changed")}})
		}
	}
	return out
}

func storeCauses() []cause {
	row := func(state StoreState, says, do string, who Who) cause {
		return cause{id: Cause("store_" + string(state)), part: PartStore, severity: Critical, who: who,
			explains: []Part{PartSession, PartBudget, PartIndex, PartFeed, PartAudit, PartWrites, PartServe},
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
				return sentence, shows, time.Time{}
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
			"Correct the owner and mode of the file and its folder, or give the right in the database.", Operator),
		row(StoreLocked, "Another process has locked the shared store at {where}: {holder}."+kept,
			"Resume that process, or end it.", Operator),
		row(StoreFull, "The disk of the shared store at {where} is full."+kept, "Free some disk space.", Operator),
		row(StoreDeleted, "The file of the shared store at {where} was deleted or replaced."+kept,
			"Stop every opdeck process. Then restore the file from a backup, or start without it, which costs one login.",
			Admin),
		row(StoreDamaged, "The shared store at {where} is damaged: what needs the damaged part fails.",
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
		c := cause{id: id, part: PartStore, severity: Critical, who: Admin, next: next, here: true,
			explains: []Part{PartSession, PartBudget, PartIndex, PartFeed, PartAudit, PartWrites, PartServe}}
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
	return []cause{{id: "clock", part: PartClock, severity: Warning, who: Operator, here: true,
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

// loginRows are the refusals of a login. {said} is the service's own words.
func loginRows() []reachRow {
	const reset = " Then reset the session."
	return []reachRow{
		{reach.Locked, "The service has locked the machine account {account}.{said}",
			"Ask for the machine account to be unlocked." + reset,
			Provider},
		{reach.TwoFactor, "The service requires a two-factor code, which a machine account cannot give.{said}",
			"Switch two-factor authentication off for the machine account." + reset, Provider},
		{reach.Password, "The service refuses the login or password of {account}.{said}",
			"Correct the password in the config; opdeck then logs in by itself. To retry the same password, reset the " +
				"session.", Operator},
		{reach.NoRoute, "{s} has no {kind} at this address ({status}).{said}", "Correct base_url.", Operator},
		{reach.Refused, "The service refuses the login of {account} ({status}).{said}",
			"Ask for the reason, and quote this message." + reset,
			Provider},
		{reach.Unreadable, "The answer to a {kind} ({status}) cannot be read{has}. {again}",
			"Check base_url, [service] proxy and the network for what changes the answers of the service; report it if " +
				"nothing does. Then log in.", Operator},
	}
}

func loginCauses() []cause {
	var out []cause
	for _, r := range loginRows() {
		out = append(out, cause{id: "login_" + Cause(r.class), part: PartSession, severity: Critical, who: r.who,
			explains: []Part{PartSession, PartIndex}, next: Next{Do: r.do, Command: loginCommand(r.class)},
			found: func(f Facts) []hit {
				for _, o := range outages(f) {
					if o.login && o.class == "" && o.fault.Class == r.class {
						says := strings.ReplaceAll(r.says, "{account}", f.Account)
						h := hit{says: o.sentence(f, says), since: o.since, evidence: o.shows, try: o.retried(f)}
						if key := o.fault.Key; key != "" {
							h.who = Admin
							h.next = Next{Do: "Set [service] " + key + " to the name of the member that has it. Then log in.",
								Command: loginCommand(r.class)}
						}
						return []hit{h}
					}
				}
				return nil
			}})
	}
	return append(out, throttledCause())
}

func loginCommand(c reach.Class) string {
	switch c {
	case reach.Unreadable:
		return "opdeck session login"
	case reach.NoRoute:
		return "opdeck doctor"
	}
	return "opdeck session reset"
}

// throttledCause is a 429 at a login or refresh, while nothing else is known to be wrong with it.
func throttledCause() cause {
	return cause{id: "login_throttled", part: PartSession, severity: Critical, who: Operator,
		explains: []Part{PartSession, PartIndex},
		next: Next{Do: "Wait; opdeck tries again by itself. Find other programs that log in as the machine account.",
			Command: "opdeck session status"},
		found: func(f Facts) []hit {
			if len(outages(f)) > 0 {
				return nil
			}
			var out []hit
			for _, one := range f.Attempts {
				a, known := one.at(f.Now)
				if !known || a.OK || a.Fault.Class != reach.Throttled || rotated(f, a.At) || usable(f) {
					continue
				}
				says := "The service refused a " + a.Kind + " (429: too many requests)."
				if a.Fault.After > 0 {
					says += " It asks to wait until " + clock(a.At.Add(a.Fault.After)) + "."
				}
				out = append(out, hit{says: says, since: a.At, evidence: []Evidence{one.evidence(attemptShows(a))},
					try: retried(f)})
			}
			return out[:min(1, len(out))]
		}}
}

// retried is when the next login or refresh is made; zero: not known.
func retried(f Facts) time.Time {
	s, _ := f.Session.at(f.Now)
	return s.Try
}

// Foreign is the cause of tokens that another client ended.
const Foreign Cause = "foreign"

// Unrefreshed is the cause of refreshes that never work, while logins do.
const Unrefreshed Cause = "refresh_fails"

// dated marks a cause whose sentence has the time of Since.
func dated(c cause) cause {
	c.dated = true
	return c
}

// usable reports whether calls have an access token.
func usable(f Facts) bool {
	s, known := f.Session.at(f.Now)
	return known && s.AccessUntil.After(f.Now)
}

func sessionCauses() []cause {
	pair := func(f Facts) Fact[Session] { return f.Session }
	row := func(id Cause, sev Severity, who Who, next Next, says func(Facts, Session) (string, string, time.Time)) cause {
		return cause{id: id, part: PartSession, severity: sev, who: who, next: next, found: of(pair, says)}
	}
	return []cause{
		dated(row(Foreign, Warning, Admin,
			Next{Do: "Look for another program: a second opdeck with its own store, or a script. A script can use " +
				"this session instead: opdeck session exec. If there is none, ask the service's support.",
				Command: "opdeck session status"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.Foreign == 0 {
					return "", "", time.Time{}
				}
				if s.EndsAfter > 0 {
					return "Access tokens end after about " + span(s.EndsAfter) + ", before they expire: another client logs in " +
							"that " +
							"often, or the service ends them early.", count(int64(s.Foreign), "token pair", "token pairs") +
							" revoked early, the last one at " +
							clock(s.ForeignAt), s.ForeignAt
				}
				often := "once in the last ten minutes (" + clock(s.ForeignAt) + ")"
				if s.Foreign > 1 {
					often = fmt.Sprintf("%d times in the last ten minutes (last %s)", s.Foreign, clock(s.ForeignAt))
				}
				return "Our session was ended " + often + ": another client logged in, or the service ended it.",
					"the last time at " + clock(s.ForeignAt), s.ForeignAt
			})),
		row("unaccepted", Critical, Provider, Next{Do: "Ask whether the machine account has the permissions that it needs.",
			Command: "opdeck doctor"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.Unaccepted < 2 {
					return "", "", time.Time{}
				}
				return "The service refuses its own new tokens on every call.",
					count(int64(s.Unaccepted), "new token pair", "new token pairs") + " that no call accepted", time.Time{}
			}),
		row(Unrefreshed, Warning, Provider, Next{Do: "Ask for the refresh of tokens at this address, and quote this message.",
			Command: "opdeck session status"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.Unrefreshed < 3 {
					return "", "", time.Time{}
				}
				both := ""
				if s.RefreshFault.Class == reach.Refused {
					both = "Either another client of the account logs in or refreshes before opdeck does, or the service's " +
						"refresh does not work. "
				}
				return "No refresh works (GET " + session.RefreshPath + "…: " + s.RefreshFault.String() + "). " + both +
						"opdeck logs in each time, which ends all other sessions of the account.",
					count(int64(s.Unrefreshed), "rotation", "rotations") + " in a row", s.RefreshSince
			}),
		row("short_life", Warning, Provider, Next{Do: "Ask for access tokens with a longer lifetime.",
			Command: "opdeck session status"},
			func(_ Facts, s Session) (string, string, time.Time) {
				if s.ShortLife <= 0 {
					return "", "", time.Time{}
				}
				return fmt.Sprintf("The service's access tokens are valid for only %s; calls wait for new ones.",
						span(s.ShortLife)),
					"lifetime " + span(s.ShortLife), time.Time{}
			}),
		row("holder_stopped", Warning, Operator, Next{Do: "Nothing: another process takes over. Resume the stopped " +
			"process, or end it.",
			Command: "opdeck session status"}, func(_ Facts, s Session) (string, string, time.Time) {
			if s.Holder == "" {
				return "", "", time.Time{}
			}
			return "A " + cmp.Or(s.Holding, "refresh") + " by " + s.Holder + " does not end; calls wait for it.",
				"in progress since " + clock(s.HolderSince),
				s.HolderSince
		}),
		{id: "budget", part: PartBudget, severity: Warning, who: Operator,
			next: Next{Do: "Wait: calls are sent in turn. Slow down a script that uses most of the budget.",
				Command: "opdeck limits"}, found: budgets},
	}
}

func budgets(f Facts) []hit {
	var out []hit
	for _, one := range f.Budgets {
		b, known := one.at(f.Now)
		switch {
		case !known:
		case b.Asked && b.Until.After(f.Now):
			out = append(out, hit{since: b.AskedT, try: b.Until,
				evidence: []Evidence{one.evidence(b.Class + ": 429 at " + clock(b.AskedT))},
				says: fmt.Sprintf("The service refused %s %s call (429). opdeck sends no %[2]s call before %[3]s.",
					article(b.Class),
					b.Class, clock(b.Until)),
				next: Next{Do: "Nothing to do: opdeck sends the waiting calls then.", Command: "opdeck limits"}})
		case b.Room <= 0 && b.Next.After(f.Now):
			h := hit{since: b.Full, try: b.Next, evidence: []Evidence{one.evidence(b.Class + ": no call before " +
				clock(b.Next))},
				says: "The budget of " + b.Class + " calls is used up until " + clock(b.Next) + "." + users(b)}
			if b.Warns {
				h.try, h.next = time.Time{}, Next{Do: "Calls are sent all the same, and marked ([limits] policy = \"warn\"): the " +
					"service may refuse them. Slow down a script that uses most of the budget.", Command: "opdeck limits"}
			}
			out = append(out, h)
		}
	}
	return out
}

func users(b Budget) string {
	if len(b.Users) == 0 {
		return ""
	}
	return " " + strings.Join(b.Users, ", ") + "."
}

// article is the indefinite article of a word.
func article(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an"
	}
	return "a"
}

func serveCauses() []cause {
	row := func(id Cause, sev Severity, explains []Part, next Next, says func(Facts, Serve) (string, string,
		time.Time)) cause {
		return cause{id: id, part: PartServe, severity: sev, who: Operator, explains: explains, next: next,
			found: func(f Facts) (out []hit) {
				for _, one := range f.Serves {
					s, known := one.at(f.Now)
					if sentence, shows, since := says(f, s); known && sentence != "" {
						out = append(out, hit{says: sentence, since: since, of: s.Host, evidence: []Evidence{one.evidence(shows)}})
					}
				}
				return out
			}}
	}
	return []cause{
		row("port", Critical, []Part{PartServe, PartFeed}, Next{Do: "Correct the reason: free the address or configure " +
			"another one, or set the secret; then start opdeck serve again.", Command: "opdeck config check"},
			func(_ Facts, s Serve) (string, string, time.Time) {
				for _, p := range s.Ports {
					if p.Fault != "" {
						return fmt.Sprintf("opdeck does not listen for %s on %s: %s.", p.Name, p.Addr, p.Fault), p.Addr + ": " + p.Fault,
							s.Ended
					}
				}
				return "", "", time.Time{}
			}),
		row("serve_absent", Warning, []Part{PartFeed}, Next{Do: "Start it, as systemctl start opdeck or as opdeck serve. " +
			"If that host needs none, remove the listeners from its config."},
			func(f Facts, s Serve) (string, string, time.Time) {
				shows := "no process was seen, and the config has listeners"
				switch {
				case s.Runs || !s.Silent.IsZero():
					return "", "", time.Time{}
				case !s.Ended.IsZero():
					shows = fmt.Sprintf("process %d ended at %s", s.PID, moment(s.Ended, f.Now))
				case s.PID != 0:
					shows = fmt.Sprintf("process %d has ended and did not say so", s.PID)
				}
				return "opdeck serve does not run on " + s.Host + ".", shows, s.Ended
			}),
		dated(row("serve_silent", Warning, []Part{PartFeed}, Next{Do: "Resume that process, or end it and start it again.",
			Command: "opdeck session status"},
			func(f Facts, s Serve) (string, string, time.Time) {
				if s.Silent.IsZero() {
					return "", "", time.Time{}
				}
				why := ": it has ended, stands still, or cannot reach the shared store."
				if s.Runs {
					why = ": it stands still, or cannot reach the shared store."
				}
				at := moment(s.Silent, f.Now)
				return fmt.Sprintf("opdeck serve on %s (process %d) was seen last at %s", s.Host, s.PID, at) + why,
					"seen last at " + at, s.Silent
			})),
	}
}

func showServe(f Facts) (bool, string) {
	for _, one := range f.Serves {
		if s, known := one.at(f.Now); known && s.Runs && s.Silent.IsZero() {
			says := fmt.Sprintf("process %d runs on %s", s.PID, s.Host)
			for i, p := range s.Ports {
				says += [...]string{" and listens for ", ", "}[min(i, 1)] + p.Name + " on " + p.Addr
			}
			return true, says
		}
	}
	return false, ""
}

func trailCauses() []cause {
	audit := func(f Facts) Fact[Audit] { return f.Audit }
	writes := func(f Facts) Fact[Writes] { return f.Writes }
	return []cause{
		{id: "audit_broken", part: PartAudit, severity: Critical, who: Admin,
			next: Next{Do: "Do not change the store or the checkpoint files. Find out who restored or changed the state.",
				Command: "opdeck audit verify"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if len(a.Broken) == 0 || a.Another {
					return "", "", time.Time{}
				}
				return "The audit trail does not verify: " + strings.TrimRight(a.Broken[0], ". ") + ".",
					strings.Join(a.Broken, "; "), time.Time{}
			})},
		{id: "audit_another", part: PartAudit, severity: Critical, who: Admin,
			next: Next{Do: "If you have replaced the store yourself, move that file away and verify the trail. If not, change " +
				"nothing and find out who did.", Command: "opdeck audit verify"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if len(a.Broken) == 0 || !a.Another {
					return "", "", time.Time{}
				}
				return "The audit trail is not the one that this host has signed: " + strings.TrimRight(a.Broken[0], ". ") + ".",
					a.Broken[0], time.Time{}
			})},
		{id: "audit_key", part: PartAudit, severity: Warning, who: Admin, here: true, explains: []Part{PartWrites, PartServe},
			next: Next{Do: "Create the key of this host, or restore its old key from a backup.",
				Command: "opdeck audit checkpoint --new-key"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if !a.NoKey {
					return "", "", time.Time{}
				}
				return "This host has no audit key, so opdeck sends no writes from here.", "a trail that began on another host",
					time.Time{}
			})},
		{id: "audit_unwritable", part: PartAudit, severity: Critical, who: Admin, explains: []Part{PartWrites, PartServe},
			next: Next{Do: "Restore the table, or the permissions of opdeck's database user; opdeck tries again by itself.",
				Command: "opdeck doctor"},
			found: of(audit, func(_ Facts, a Audit) (string, string, time.Time) {
				if a.Writable {
					return "", "", time.Time{}
				}
				return "The shared store cannot record a write, so opdeck sends none." + quoted(a.Says),
					"a record, tried and rolled back", time.Time{}
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

// lookLate is the age that every index may have: a person's calls go before those of the sync.
const lookLate = 5 * time.Minute

// current reports whether the list was looked at lately, within what the config promises.
func (i Index) current(now time.Time) bool {
	return now.Sub(i.Looked) <= max(indexLate*i.Every, lookLate)
}

func indexCauses() []cause {
	return []cause{{id: "index_damaged", part: PartIndex, severity: Critical, who: Operator,
		next: Next{Do: "Stop the opdeck processes of this host and start them again: opdeck makes the index anew.",
			Command: "opdeck index status"},
		found: of(func(f Facts) Fact[Index] { return f.Index }, func(_ Facts, i Index) (string, string, time.Time) {
			if i.Damaged == "" {
				return "", "", time.Time{}
			}
			return "The index at " + i.Damaged + " is damaged, so lists and webhooks wait.", "a read of the file", i.DamagedSince
		})}, {id: "index_old", part: PartIndex, severity: Warning, who: Operator,
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
