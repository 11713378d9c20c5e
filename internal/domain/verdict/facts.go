package verdict

import (
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
