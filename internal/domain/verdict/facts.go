package verdict

import (
	"fmt"
	"strings"
	"time"

	"opdeck/api/reach"
)

// Facts are all that is known. A part that nobody has seen is the zero Fact.
type Facts struct {
	Now     time.Time // by the store's clock
	Service string    // the host of base_url
	Account string    // masked
	Host    string    // of this process
	// Began is when causes whose facts do not tell it were first seen, see Verdict.FirstSeen. Another one began with its
	// evidence, or is not dated if this process is Fresh: it was not there when it began.
	Began map[string]time.Time
	Fresh bool

	Calls       []Fact[Call]    // the answers of real calls, in any order
	Attempts    []Fact[Attempt] // the newest logins and refreshes, in any order
	Password    Fact[Password]
	Session     Fact[Session]
	Budgets     []Fact[Budget]
	Store       Fact[Store]
	Key         Fact[Key] // only what is wrong with it
	Index       Fact[Index]
	Feed        Fact[Feed]
	Audit       Fact[Audit]
	Writes      Fact[Writes]
	Certificate Fact[Certificate]
	Clock       Fact[Clock]
	Config      Fact[Config]
	Serves      []Fact[Serve] // of hosts where one runs, has run lately, or should run
	Outdated    []Fact[Outdated]
}

// Call is what the calls of one class and route have shown last.
type Call struct {
	Class, Route string
	Good         time.Time // the last useful answer; zero: none
	Failed       time.Time // the last failure; zero: none
	Since        time.Time // the first failure after Good
	Over         time.Time // the first useful answer after an outage; zero: none
	Fault        reach.Fault
	Objects      int // different ones that failed like Fault since Good
}

func (c Call) failing() bool { return c.Fault.Class != reach.None && c.Failed.After(c.Good) }

// alone reports whether a failing call shows nothing about others: its answer may be of no use to it only, as 404 for
// an id that is not known (useless).
func (c Call) alone() bool { return c.Fault.Class == reach.Useless }

// Unauthenticated is the class of requests without a login. Any answer to one shows that there is a connection, and
// none that the service is of use.
const Unauthenticated = "unauthenticated"

// probe reports whether a call had no login.
func (c Call) probe() bool { return c.Class == Unauthenticated }

// Attempt is a login or a refresh.
type Attempt struct {
	Kind  string // "login" or "refresh"
	At    time.Time
	OK    bool
	Fault reach.Fault
	// Waits: it was not sent because the budget had no call left. It never takes the place of an earlier fault.
	Waits bool
	By    string    // the process
	Next  time.Time // when it is tried again; zero: not by itself, or not known
}

// Password says whether this host can read the account's password.
type Password struct {
	Source string // "password_env OPDECK_PASSWORD"
	Fault  string // "" if it is available; the command's standard error is quoted
}

// Session is the state of the shared pair.
type Session struct {
	State        string // none, live, rotating, doubtful, blocked
	AccessUntil  time.Time
	RefreshUntil time.Time
	Foreign      int           // pairs that another client ended within ten minutes
	ForeignAt    time.Time     // the newest of them
	ShortLife    time.Duration // the real lifetime of access tokens if it is too short to keep a session; else 0
	Unaccepted   int           // new pairs refused within ten minutes, since a call was accepted
	Unrefreshed  int           // rotations in a row in which the answer to the refresh was of no use and the login worked
	RefreshSince time.Time     // the first of these refreshes, and
	RefreshFault reach.Fault   // what came in place of an answer to the last one
	EndsAfter    time.Duration // the age at which tokens end before they expire; 0: they do not
	Refused      time.Time     // when a call was refused with the current pair, which no call has used since; zero: none
	Holder       string        // a process that rotates and does not go on; "" for none
	HolderSince  time.Time
	Holding      string    // "refresh" or "login"
	Try          time.Time // when the back-off of logins and refreshes ends; zero: there is none
}

// Budget is one endpoint class.
type Budget struct {
	Class  string
	Room   int
	Next   time.Time // when the next call can be sent
	Full   time.Time // since when no call is left; zero: not known
	Warns  bool      // calls beyond it are sent at once, and marked
	Asked  bool      // the service answered 429 within the last minutes
	AskedT time.Time // when, and
	Until  time.Time // until when opdeck waits
	Users  []string  // who used it up: "borrower nightly used 11 of the 12"
}

// StoreState is what is wrong with the store.
type StoreState string

// The states of a store.
const (
	StoreGood     StoreState = "good"
	StoreAbsent   StoreState = "absent"    // the database does not answer
	StoreLogin    StoreState = "login"     // it refuses user or password
	StoreMissing  StoreState = "missing"   // the server has no such database
	StoreBusy     StoreState = "busy"      // too many connections
	StoreReadOnly StoreState = "read_only" // the disk or the server accepts no writes
	StoreDenied   StoreState = "denied"    // the permissions do not allow it
	StoreLocked   StoreState = "locked"    // another process holds it
	StoreFull     StoreState = "full"
	StoreDeleted  StoreState = "deleted" // the file was deleted or replaced
	StoreDamaged  StoreState = "damaged"
	StoreFailing  StoreState = "failing" // its disk reports errors
	StoreNewer    StoreState = "newer"   // a newer program has migrated it
	StoreOlder    StoreState = "older"   // it must be migrated first
)

// Store is the shared store.
type Store struct {
	State  StoreState
	Engine string // "SQLite" or "PostgreSQL"
	Where  string // the file or the server
	Says   string // its own words
	Holder string // StoreLocked: the process
}

// KeyFault is what is wrong with the key that seals the tokens in the store.
type KeyFault string

// The faults of a key; the first three are those of its file.
const (
	KeyMissing  KeyFault = "missing"
	KeyUnusable KeyFault = "unusable"
	KeyOther    KeyFault = "other"    // another key than the one that seals the tokens
	KeyGivenUp  KeyFault = "given_up" // a person gave the tokens up that this process's key has sealed
)

// Key is the key that seals the tokens in the store.
type Key struct {
	File  string
	Fault KeyFault
	Says  string // KeyUnusable: why
	Held  bool   // this process has the right key in memory
}

// Index is the local mirror.
type Index struct {
	Rows    int64
	AsOf    time.Time // the oldest sight
	Whole   bool      // it holds all of the list
	Says    string    // how much it holds and how old that is
	Due     time.Duration
	Error   string // the last failure of the sync, "" for none
	Damaged string // the file, if it is damaged
	// DamagedSince is when a process first met the damage.
	DamagedSince time.Time
	// Looked is when the list was looked at for new operations last, and Every how often the config promises that.
	Looked time.Time
	Every  time.Duration
}

// Feed is the inbox and its receiver.
type Feed struct {
	Expected bool // [webhooks] listen is set
	Last     time.Time
	Stalled  bool
	Usual    time.Duration // the longest pause before
	Rejected int64         // within the last day
	Why      string        // of the last rejection, with the setting that decides
	At       time.Time     // of the last rejection
	Waiting  int64         // stored and not merged
	Oldest   time.Time
}

// Audit is the trail.
type Audit struct {
	Broken   []string // problems that verify found
	Another  bool     // they are that this host has signed another trail
	Writable bool     // the newest try to record a write worked
	Says     string   // the store's own words if it did not
	NoKey    bool     // the trail began on another host, and this one has no key yet
}

// Writes are the writes without a known outcome, and interrupted jobs.
type Writes struct {
	Doubtful   int64
	Oldest     time.Time
	Stuck      int64 // interrupted replacements
	StuckSince time.Time
}

// Certificate is the service's.
type Certificate struct{ Until time.Time }

// Clock is the difference to the service. Negative: behind.
type Clock struct {
	Host     string
	Ahead    time.Duration // of this host's clock
	Database time.Duration // of the clock of a database of its own
}

// Config is the result of its check.
type Config struct {
	Mistakes []string  // each with file, line and cure
	Changed  time.Time // when the file was changed last; zero: not known
	Ignored  []string  // proxies of the environment that have no effect: "HTTPS_PROXY"
}

// Outdated is a running process that has read an older config than the file.
type Outdated struct {
	Host string
	PID  int
	File string
}

// Serve is opdeck serve on a host.
type Serve struct {
	Host  string
	PID   int // 0: none was seen, and the config has listeners
	Ports []Port
	Runs  bool
	// Silent is when the process was seen last, if it has not reported for two minutes. It still runs if Runs is set; else
	// that is not known.
	Silent time.Time
	Ended  time.Time // when it said that it ends; zero: it did not
}

// Port is a listener of opdeck serve.
type Port struct {
	Name  string // "webhooks"
	Addr  string
	Fault string // "" if it listens
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

// Fact is a value with its source and the period in which it may be used. The zero Fact is not known.
type Fact[T any] struct {
	Value T
	From  string        // which call, process or read of the store, for people
	At    time.Time     // when it was seen, by the store's clock
	Holds time.Duration // how long it may be used after At; never longer than Facts.Now allows
}

// Known returns a fact that holds for that long.
func Known[T any](value T, from string, at time.Time, holds time.Duration) Fact[T] {
	return Fact[T]{Value: value, From: from, At: at, Holds: holds}
}

// ahead is how far a fact may be ahead of Facts.Now: two reads of one store can be in the wrong order.
const ahead = time.Minute

// At returns the value if the fact is known at now: it was seen, and has not lapsed.
func (f Fact[T]) at(now time.Time) (T, bool) {
	age := now.Sub(f.At)
	if f.At.IsZero() || f.Holds <= 0 || age > f.Holds || age < -ahead {
		var none T
		return none, false
	}
	return f.Value, true
}

func (f Fact[T]) evidence(text string) Evidence { return Evidence{Text: text, From: f.From, At: f.At} }

// Evidence is one line that a finding rests on.
type Evidence struct {
	Text string    `json:"text"`
	From string    `json:"from"`
	At   time.Time `json:"at"`
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
