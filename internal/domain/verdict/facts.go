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
	Ports       []Fact[Port]
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
	Unaccepted   int           // new pairs that no call accepted within ten minutes
	EndsAfter    time.Duration // the age at which tokens end before they expire; 0: they do not
	Refused      time.Time     // when a call was refused with the current pair, which no call has used since; zero: none
	Holder       string        // a process that rotates and does not go on; "" for none
	HolderSince  time.Time
	Holding      string // "refresh" or "login"
}

// Budget is one endpoint class.
type Budget struct {
	Class  string
	Room   int
	Next   time.Time // when the next call can be sent
	Full   time.Time // since when no call is left; zero: not known
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
	Since  time.Time
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
	Rows  int64
	AsOf  time.Time // the oldest sight
	Whole bool      // it holds all of the list
	Says  string    // how much it holds and how old that is
	Due   time.Duration
	Error string // the last failure of the sync, "" for none
}

// Feed is the inbox and its receiver.
type Feed struct {
	Expected bool // [webhooks] listen is set
	Last     time.Time
	Stalled  bool
	Usual    time.Duration // between events
	Rejected int64         // within the last day
	Why      string        // of the last rejection, with the setting that decides
	At       time.Time     // of the last rejection
	Waiting  int64         // stored and not merged
	Oldest   time.Time
}

// Audit is the trail.
type Audit struct {
	Broken   []string // problems that verify found
	Writable bool
	NoKey    bool // the trail began on another host, and this one has no key yet
	Since    time.Time
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
	Mistakes []string // each with file, line and cure
	Ignored  []string // proxies of the environment that have no effect: "HTTPS_PROXY"
}

// Port is a listener of opdeck serve.
type Port struct {
	Name  string // "webhooks"
	Addr  string
	Fault string // "" if it listens
	Since time.Time
}
