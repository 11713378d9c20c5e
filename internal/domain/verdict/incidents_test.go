package verdict

import (
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// base are the facts of a host with a good store and no session yet.
func base() Facts {
	f := Facts{Now: noon, Service: "stage.example.com", Account: "m•••@example.com"}
	f.Store = now(Store{State: StoreGood, Engine: "SQLite", Where: "/state/opdeck.db"})
	f.Session = now(Session{State: "none"})
	return f
}

// live is base with a session and a good answer.
func live() Facts {
	f := base()
	f.Session = now(Session{State: "live", AccessUntil: noon.Add(3 * time.Minute),
		RefreshUntil: noon.Add(13 * time.Minute)})
	f.Calls = []Fact[Call]{now(Call{Class: "general", Route: "GET /v2/users", Good: noon.Add(-time.Minute)})}
	return f
}

func now[T any](v T) Fact[T] { return Known(v, "host a, process 7", noon, 10*time.Minute) }

// login is base with a failed login, and two that found no slot after it.
func login(fault reach.Fault) Facts {
	f := base()
	at := noon.Add(-40 * time.Second)
	f.Attempts = []Fact[Attempt]{now(Attempt{Kind: "login", At: at, Fault: fault}),
		now(Attempt{Kind: "login", At: noon.Add(-2 * time.Second), Waits: true})}
	return f
}

// call is live with calls that fail since 20 s.
func call(fault reach.Fault) Facts {
	f := live()
	f.Calls = append(f.Calls, now(Call{Class: "billing", Route: "GET /v2/operations", Good: noon.Add(-2 * time.Minute),
		Failed: noon.Add(-time.Second), Since: noon.Add(-20 * time.Second), Fault: fault}))
	return f
}

func with(f Facts, change func(*Facts)) Facts { change(&f); return f }

func inStore(s StoreState, says string) Facts {
	return with(live(), func(f *Facts) {
		f.Store = now(Store{State: s, Engine: "PostgreSQL", Where: "db:5432", Says: says, Holder: "host a, process 9"})
	})
}

// incidents are those of an evening on call: the facts that a host has, and the first sentence.
func incidents() map[string]struct {
	facts Facts
	want  string
} {
	type row = struct {
		facts Facts
		want  string
	}
	said := func(c reach.Class, status int, words string) reach.Fault {
		return reach.Fault{Class: c, Status: status, Said: words}
	}
	ended := noon.Add(-48 * time.Hour)
	return map[string]row{
		"01 DNS":           {login(said(reach.NoName, 0, "")), "The name stage.example.com cannot be looked up."},
		"02 refused":       {login(said(reach.NoPort, 0, "")), "stage.example.com refuses connections."},
		"03 connect hangs": {login(said(reach.NoConnect, 0, "")), "No connection to stage.example.com: nothing answers."},
		"04 TLS expired": {login(reach.Fault{Class: reach.TLSExpired, Until: ended}),
			"The certificate of stage.example.com expired on 2026-02-28 12:00 UTC."},
		"05 TLS name": {login(reach.Fault{Class: reach.TLSName, Names: "old.example.com"}),
			"The certificate of stage.example.com is for another name (old.example.com)."},
		"06 TLS authority": {login(said(reach.TLSIssuer, 0, "")),
			"The certificate of stage.example.com is from an authority that is not known here."},
		"07 TLS 1.0": {login(said(reach.TLSVersion, 0, "")), "stage.example.com offers no TLS version from 1.2 on."},
		"08 plain HTTP": {login(said(reach.PlainHTTP, 0, "")),
			"stage.example.com speaks plain HTTP on the port that base_url uses for https."},
		"09 http to TLS": {login(said(reach.HTTPToTLS, 0, "")),
			"stage.example.com speaks TLS on the port that base_url uses for plain http."},
		"10 captive page": {login(said(reach.Page, 200, "")),
			"A web page comes instead of an answer of stage.example.com: a login page of this network, or another server."},
		"11 proxy wrong": {login(reach.Fault{Class: reach.ProxyFault, Target: "proxy:3128"}),
			"The proxy proxy:3128 cannot be reached."},
		"11 proxy ignored": {with(live(), func(f *Facts) { f.Config = now(Config{Ignored: []string{"HTTPS_PROXY"}}) }),
			"opdeck ignores HTTPS_PROXY of the environment."},
		"12 proxy 407": {login(said(reach.ProxyAsks, 407, "")), "The proxy demands a login (407)."},
		"13 503 Retry-After": {login(reach.Fault{Class: reach.Maintenance, Status: 503, After: 2 * time.Minute}),
			"stage.example.com is under maintenance or overloaded (503), until 12:01:20 UTC as it says."},
		"14 502": {login(said(reach.Gateway, 502, "")),
			"A gateway before stage.example.com gets no answer from the service (502)."},
		"15 429 at login": {login(reach.Fault{Class: reach.Throttled, Status: 429, After: time.Minute}),
			"The service answers a login with too many requests (429). It asks to wait until 12:00:20 UTC."},
		"16 429 billing": {with(live(), func(f *Facts) {
			f.Budgets = []Fact[Budget]{now(Budget{Class: "billing", Asked: true, AskedT: noon.Add(-5 * time.Second),
				Until: noon.Add(55 * time.Second)})}
		}), "The service answers billing calls with too many requests (429). opdeck waits until 12:00:55 UTC."},
		"17 wrong password": {login(said(reach.Password, 401, "Invalid credentials")),
			`The service refuses login or password of m•••@example.com. It says: "Invalid credentials".`},
		"18 locked 423": {login(said(reach.Locked, 423, "")), "The service has locked the account m•••@example.com."},
		"19 locked 403": {login(said(reach.Locked, 403, "Account is locked.")),
			`The service has locked the account m•••@example.com. It says: "Account is locked".`},
		"20 two-factor": {login(said(reach.TwoFactor, 401, "")),
			"The service demands a two-factor code, which a machine account cannot give."},
		"21 no route": {login(said(reach.NoRoute, 404, "")), "stage.example.com has no login at this address (404)."},
		"22 login disabled": {login(said(reach.Disabled, 403, "API login is disabled")),
			`The service has disabled the account m•••@example.com or its login. It says: "API login is disabled".`},
		"23 410": {login(said(reach.Gone, 410, "Use v3")),
			`stage.example.com no longer offers this version of its interface (410). It says: "Use v3".`},
		"24 garbage": {login(said(reach.Garbage, 200, "")), "The answers of stage.example.com are not JSON."},
		"25 slow": {call(said(reach.Slow, 0, "")),
			"stage.example.com accepts connections and does not answer in time."},
		"26 cut": {call(said(reach.Cut, 0, "")), "stage.example.com ends its answers in the middle."},
		"27 billing 500": {with(call(said(reach.Failed, 500, "")), func(f *Facts) { f.Calls[0].Value.Good = noon }),
			"Only billing calls fail: stage.example.com fails (500)."},
		"28 foreign": {with(live(), func(f *Facts) { f.Session.Value.Foreign, f.Session.Value.ForeignAt = 1, noon }),
			"Another client logs in with this account and ends opdeck's session: 1 time within ten minutes."},
		"30 refresh refused, login 503": {with(login(said(reach.Maintenance, 503, "")), func(f *Facts) {
			f.Attempts = append(f.Attempts, now(Attempt{Kind: "refresh", At: noon.Add(-time.Minute),
				Fault: said(reach.Refused, 401, "")}))
		}), "stage.example.com is under maintenance or overloaded (503)."},
		"31 life 5 s": {with(live(), func(f *Facts) { f.Session.Value.ShortLife = 5 * time.Second }),
			"Access tokens of the service live only 5s; calls wait for new ones."},
		"32 no lifetime": {login(said(reach.Unreadable, 200, "")),
			"The login succeeds, but opdeck finds no tokens in the answer."},
		"33 clock behind": {with(live(), func(f *Facts) { f.Clock = now(Clock{Host: "a", Ahead: -time.Hour}) }),
			"The clock of a is 1h 00m behind that of the service."},
		"34 clock ahead": {with(live(), func(f *Facts) { f.Clock = now(Clock{Host: "a", Ahead: time.Hour}) }),
			"The clock of a is 1h 00m ahead of that of the service."},
		"35 store locked": {inStore(StoreLocked, ""), "Another process holds the shared store at db:5432 locked: host a, " +
			"process 9. No process logs in or refreshes without it."},
		"36 store deleted": {inStore(StoreDeleted, ""), "The file of the shared store at db:5432 was deleted or replaced. " +
			"No process logs in or refreshes without it."},
		"37 disk full": {inStore(StoreFull, ""), "The disk of the shared store at db:5432 is full. No process logs in " +
			"or refreshes without it."},
		"38 read-only fs": {inStore(StoreReadOnly, ""),
			"The shared store (PostgreSQL at db:5432) is read-only. No process logs in or refreshes without it."},
		"39 database down": {inStore(StoreAbsent, ""), "The shared store (PostgreSQL at db:5432) does not answer. No " +
			"process logs in or refreshes without it."},
		"40 database password": {inStore(StoreLogin, "password authentication failed"),
			`The shared store (PostgreSQL at db:5432) refuses opdeck's user or password. No process logs in or refreshes without it. It says: "password authentication failed".`},
		"41 too many connections": {inStore(StoreBusy, ""),
			"The shared store (PostgreSQL at db:5432) has no free connection. No process logs in or refreshes without it."},
		"43 no webhooks": {with(live(), func(f *Facts) {
			f.Feed = now(Feed{Expected: true, Stalled: true, Last: noon.Add(-time.Hour), Usual: 4 * time.Minute})
		}), "No webhook came since 11:00:00 UTC; usually one comes within 4m."},
		"44 wrong secret": {with(live(), func(f *Facts) {
			f.Feed = now(Feed{Expected: true, Rejected: 3, At: noon,
				Why: "signed with another secret than [webhooks] secret_env"})
		}), "The receiver rejected 3 deliveries, the last one at 12:00:00 UTC: signed with another secret than [webhooks] " +
			"secret_env."},
		"45 port in use": {with(live(), func(f *Facts) {
			f.Ports = []Fact[Port]{now(Port{Name: "webhooks", Addr: "127.0.0.1:8788", Fault: "the address is in use"})}
		}), "opdeck does not listen for webhooks on 127.0.0.1:8788: the address is in use."},
		"46 config": {with(live(), func(f *Facts) {
			f.Config = now(
				Config{Mistakes: []string{"config.toml:3: unknown key."}})
		}),
			"The config has 1 mistake: config.toml:3: unknown key."},
		"49 password missing": {with(base(), func(f *Facts) {
			f.Password = now(Password{Source: "password_env", Fault: "the variable OPDECK_PASSWORD is empty"})
		}), "The password of the machine account is not available: the variable OPDECK_PASSWORD is empty."},
		"50 password command hangs": {with(base(), func(f *Facts) {
			f.Password = now(Password{Source: "password_command", Fault: "password_command did not end within 10 s"})
		}), "The password of the machine account is not available: password_command did not end within 10 s."},
		"52 audit key": {with(live(), func(f *Facts) { f.Audit = now(Audit{NoKey: true, Writable: true}) }),
			"The audit key of this host is missing; its checkpoints cannot be checked."},
		"53 audit bent": {with(live(), func(f *Facts) {
			f.Audit = now(Audit{Broken: []string{"record 12 was changed."}, Writable: true})
		}), "The audit trail does not verify: record 12 was changed."},
		"54 holder stopped": {with(live(), func(f *Facts) {
			f.Session.Value.Holder, f.Session.Value.HolderSince = "host a, process 9", noon.Add(-8*time.Second)
		}), "A refresh by host a, process 9 does not end; calls wait for it."},
		"57 index old": {with(live(), func(f *Facts) {
			f.Index = now(Index{Rows: 200, AsOf: noon.Add(-6 * time.Hour), Whole: true, Due: time.Minute})
		}), "The lists are 6h 00m old."},
		"58 budget": {with(live(), func(f *Facts) {
			f.Budgets = []Fact[Budget]{now(Budget{Class: "billing", Next: noon.Add(56 * time.Second),
				Users: []string{"borrower nightly (12)"}})}
		}), "The budget of billing calls is used up until 12:00:56 UTC. Used by borrower nightly (12)."},
		"70 live, then 503": {call(said(reach.Maintenance, 503, "")),
			"stage.example.com is under maintenance or overloaded (503)."},
		"71 live, then a page": {call(said(reach.Page, 200, "")),
			"A web page comes instead of an answer of stage.example.com: a login page of this network, or another server."},
		"72 live, then 410": {call(said(reach.Gone, 410, "Use v3")),
			`stage.example.com no longer offers this version of its interface (410). It says: "Use v3".`},
		"73 live, then 302": {call(reach.Fault{Class: reach.Moved, Status: 302, Target: "https://sso.example.com/"}),
			"stage.example.com redirects calls to https://sso.example.com/, and opdeck follows no redirects."},
		"75 live, then gone": {call(said(reach.NoPort, 0, "")), "stage.example.com refuses connections."},
		"80 different key_file": {with(live(), func(f *Facts) { f.Session.Value.OtherKey = true }),
			"Another host seals the shared tokens with a different key_file: each host ends the session of the others."},
		"newer store": {inStore(StoreNewer, ""),
			"A newer opdeck has changed the shared store at db:5432; this one cannot use it."},
		"writes in doubt": {with(live(), func(f *Facts) {
			f.Writes = now(Writes{Doubtful: 1,
				Oldest: noon.Add(-time.Hour)})
		}), "1 write has no known outcome, the oldest since 11:00:00 UTC."},
		"certificate ends": {with(live(), func(f *Facts) {
			f.Certificate = now(
				Certificate{Until: noon.Add(72 * time.Hour)})
		}), "The certificate of stage.example.com ends on 2026-03-05 12:00 UTC."},
		"nothing wrong":      {live(), "No fault known."},
		"nothing called yet": {base(), "No fault known. Not known now: service, session."},
	}
}

// TestIncidents: each has its first sentence, with a next step, a person and evidence, and no second cause that the
// facts do not contain.
func TestIncidents(t *testing.T) {
	for name, one := range incidents() {
		t.Run(name, func(t *testing.T) {
			v := Conclude(one.facts)
			if got := v.Headline(); got != one.want {
				t.Errorf("got  %s\nwant %s", got, one.want)
			}
			first, wrong := v.First()
			if wrong == strings.HasPrefix(one.want, "No fault known") {
				t.Fatalf("found %+v", v.Findings)
			}
			if wrong && (first.Since.IsZero() || first.Follows != "" || v.State() < Warned || v.Of(first.Part) < Warned) {
				t.Errorf("%+v, state %s", first, v.State())
			}
			for _, f := range v.Findings[min(1, len(v.Findings)):] {
				if f.Follows == "" {
					t.Errorf("another cause: %s", f.Sentence)
				}
			}
		})
	}
}

// TestTwoCauses: a second cause that does not follow from the first is listed as one of its own.
func TestTwoCauses(t *testing.T) {
	f := inStore(StoreAbsent, "")
	f.Calls = call(reach.Fault{Class: reach.NoPort}).Calls
	v := Conclude(f)
	if len(v.Findings) != 2 || v.Findings[0].Part != PartStore || v.Findings[1].Part != PartService ||
		v.Findings[1].Follows != "" {
		t.Errorf("%+v", v.Findings)
	}
}
