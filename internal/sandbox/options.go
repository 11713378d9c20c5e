package sandbox

import (
	"fmt"
	"maps"
	"net/http"
	"time"

	"opdeck/api/limit"
)

// Defaults of Options.
const (
	DefaultOperations = 500
	DefaultLogin      = "machine@sandbox"
	DefaultPassword   = "sandbox"
	DefaultAccessTTL  = 5 * time.Minute
	DefaultRefreshTTL = 15 * time.Minute
	DefaultHookSecret = "sandbox-hook-secret-of-36-characters"
	// DefaultShareTokenField is the body field that carries a share token.
	DefaultShareTokenField = "token"
)

// Options say how the service behaves. The file is the server: options that
// are set here are written into it and hold for every process that has it
// open; options left at their zero value keep what the file says, or the
// default when the file is new. Now and Around are exceptions: they are this process's.
type Options struct {
	Path       string // SQLite file; "" keeps everything in memory
	Operations int    // sample operations of a new file, default 500; an existing file keeps its own
	Seed       uint64 // of ids and sample data; used for a new file only
	// Odd adds rare and hostile values to the sample data of a new file: for tests.
	Odd bool
	// Fresh makes the data run up to now over sixty days, and fills the time since the file was open last.
	Fresh bool
	// Living is Fresh, and switches webhooks on, to the Receiver of a process that has the file open. Changes are
	// made by Live.
	Living bool

	AccessTTL  time.Duration // default 5 min
	RefreshTTL time.Duration // default 15 min
	// TTLUnit is how accessTtl and refreshTtl are written in answers:
	// "s" (default), "ms", "min", "epoch_s", "epoch_ms", "string" (seconds in quotes).
	TTLUnit string

	Login, Password string
	TOTPSecret      string // base32; a code is then demanded at every login and refresh
	StrictLogin     bool   // a login kills older refresh tokens too
	OpaqueTokens    bool   // access tokens are no JWT
	MarkerPrefix    string // [A-Za-z0-9_-]; found in every token, for leak scans
	TokenSuffix     string // put behind every refresh token: odd characters, length

	BaaS            bool   // share calls answer 403
	ShareTokenField string // default "token"

	HookURL      string        // switches webhooks on, all kinds
	HookSecret   string        // default DefaultHookSecret
	HookBackoff  time.Duration // wait before the first repeat, doubled each time; default 1 s
	HookAttempts int           // default 12

	HardLimits bool                // 429 above the recommended rates
	PerMinute  map[limit.Class]int // recommended rates by class; nil: the documented ones

	Now func() time.Time // clock; nil: time.Now
	// Around returns what answers in place of next, which answers as the service does: package faulty injects
	// faults there. nil: next itself.
	Around func(s *Service, next http.Handler) http.Handler
}

// settings are the part of the server's state that options and Configure change; one
// JSON row in the file.
type settings struct {
	Seed       uint64 `json:"seed"`
	Operations int    `json:"operations"`
	Ordinary   bool   `json:"ordinary"`         // without the values of Options.Odd
	Newest     int64  `json:"newest,omitempty"` // creation of the newest sample operation, Unix nanoseconds; 0: baseTime
	Span       span   `json:"span,omitempty"`   // that sample operations are spread over; 0: minutes apart

	AccessTTL  span   `json:"access_ttl"`
	RefreshTTL span   `json:"refresh_ttl"`
	TTLUnit    string `json:"ttl_unit"`

	Login        string `json:"login"`
	Password     string `json:"password"`
	UserID       string `json:"user_id"`
	TOTPSecret   string `json:"totp_secret"`
	StrictLogin  bool   `json:"strict_login"`
	OpaqueTokens bool   `json:"opaque_tokens"`
	MarkerPrefix string `json:"marker_prefix"`
	TokenSuffix  string `json:"token_suffix"`
	SigningKey   []byte `json:"signing_key"`

	BaaS            bool   `json:"baas"`
	AllowEndStates  bool   `json:"allow_end_states"`
	ShareTokenField string `json:"share_token_field"`

	Hook         hookParameters `json:"hook"`
	HookBackoff  span           `json:"hook_backoff"`
	HookAttempts int            `json:"hook_attempts"`

	HardLimits bool                `json:"hard_limits"`
	PerMinute  map[limit.Class]int `json:"per_minute"`
}

// span is a duration that reads and writes itself as text ("5m0s").
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *span) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = span(v)
	return err
}

func newSettings(o Options) settings {
	s := settings{
		Seed: o.Seed, Operations: o.Operations, Ordinary: !o.Odd,
		AccessTTL: span(DefaultAccessTTL), RefreshTTL: span(DefaultRefreshTTL), TTLUnit: "s",
		Login: DefaultLogin, Password: DefaultPassword,
		ShareTokenField: DefaultShareTokenField,
		Hook:            hookParameters{JWTSecret: DefaultHookSecret},
		HookBackoff:     span(time.Second), HookAttempts: 12,
		PerMinute: limit.Recommended(),
	}
	if s.Operations <= 0 {
		s.Operations = DefaultOperations
	}
	if o.Fresh || o.Living {
		now := time.Now
		if o.Now != nil {
			now = o.Now
		}
		s.Newest, s.Span = now().Add(-youngest).UnixNano(), span(livingSpan)
	}
	d := newDice(s.Seed, saltSettings, 0)
	s.UserID = d.uuid().String()
	s.SigningKey = randomBytes(32)
	return s
}

// apply writes the options that are set over s.
func (s *settings) apply(o Options) error {
	set(&s.AccessTTL, span(o.AccessTTL))
	set(&s.RefreshTTL, span(o.RefreshTTL))
	set(&s.TTLUnit, o.TTLUnit)
	set(&s.Login, o.Login)
	set(&s.Password, o.Password)
	set(&s.TOTPSecret, o.TOTPSecret)
	set(&s.StrictLogin, o.StrictLogin)
	set(&s.OpaqueTokens, o.OpaqueTokens)
	set(&s.MarkerPrefix, o.MarkerPrefix)
	set(&s.TokenSuffix, o.TokenSuffix)
	set(&s.BaaS, o.BaaS)
	set(&s.ShareTokenField, o.ShareTokenField)
	set(&s.HookBackoff, span(o.HookBackoff))
	set(&s.HookAttempts, o.HookAttempts)
	set(&s.HardLimits, o.HardLimits)
	set(&s.Hook.JWTSecret, o.HookSecret)
	if o.HookURL != "" {
		s.Hook.URL = o.HookURL
		s.Hook.Enabled, s.Hook.Customer, s.Hook.Operation, s.Hook.Account, s.Hook.Counterparty = true, true, true, true, true
	}
	if o.Living && s.Hook.URL == "" {
		s.Hook = hookParameters{true, InProcessHook, s.Hook.JWTSecret, true, true, true, true}
	}
	maps.Copy(s.PerMinute, o.PerMinute)
	return s.check()
}

func (s *settings) check() error {
	switch s.TTLUnit {
	case "s", "ms", "min", "epoch_s", "epoch_ms", "string":
	default:
		return fmt.Errorf("sandbox: unknown unit of token lifetimes %q", s.TTLUnit)
	}
	if s.AccessTTL <= 0 || s.RefreshTTL <= 0 {
		return fmt.Errorf("sandbox: token lifetimes must be positive")
	}
	return nil
}

// set writes v to p unless v is the zero value.
func set[T comparable](p *T, v T) {
	var zero T
	if v != zero {
		*p = v
	}
}
