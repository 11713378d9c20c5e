// Package verdicttest has the incidents that tests of the verdict and of its surfaces share.
package verdicttest

import (
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/verdict"
)

// Noon is the time of all incidents.
var Noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// Base returns the facts of a host with a good store and no session yet.
func Base() verdict.Facts {
	f := verdict.Facts{Now: Noon, Service: "stage.example.com", Account: "m•••@example.com"}
	f.Store = Now(verdict.Store{State: verdict.StoreGood, Engine: "SQLite", Where: "/state/opdeck.db"})
	f.Session = Now(verdict.Session{State: "none"})
	return f
}

// Live is Base with a session and a good answer.
func Live() verdict.Facts {
	f := Base()
	f.Session = Now(verdict.Session{State: "live", AccessUntil: Noon.Add(3 * time.Minute),
		RefreshUntil: Noon.Add(13 * time.Minute)})
	f.Calls = []verdict.Fact[verdict.Call]{Now(verdict.Call{Class: "general", Route: "GET /v2/users",
		Good: Noon.Add(-time.Minute)})}
	return f
}

// Now is a fact that was seen at Noon and holds for ten minutes.
func Now[T any](v T) verdict.Fact[T] {
	return verdict.Known(v, "host a, process 7", Noon, 10*time.Minute)
}

// Login is Base with a failed login, and two that found no slot after it.
func Login(fault reach.Fault) verdict.Facts {
	f := Base()
	at := Noon.Add(-40 * time.Second)
	f.Attempts = []verdict.Fact[verdict.Attempt]{Now(verdict.Attempt{Kind: "login", At: at, Fault: fault}),
		Now(verdict.Attempt{Kind: "login", At: Noon.Add(-2 * time.Second), Waits: true})}
	return f
}

// Call is Live with calls that fail since 20 s.
func Call(fault reach.Fault) verdict.Facts {
	f := Live()
	f.Calls = append(f.Calls, Now(verdict.Call{Class: "billing", Route: "GET /v2/operations",
		Good:   Noon.Add(-2 * time.Minute),
		Failed: Noon.Add(-time.Second), Since: Noon.Add(-20 * time.Second), Fault: fault}))
	return f
}

// Shape is an answer that is of no use.
type Shape struct {
	Shape  string
	Status int
	Body   string
}

// Shapes are on every call an outage.
var Shapes = []Shape{
	{"400 Bad Request", 400, `{"error":"no"}`}, {"402 Payment Required", 402, `{"error":"no"}`},
	{"403 Forbidden", 403, `{"error":"no"}`}, {"404 Not Found", 404, `{"error":"no"}`},
	{"405 Method Not Allowed", 405, `{"error":"no"}`}, {"406 Not Acceptable", 406, `{"error":"no"}`},
	{"421 Misdirected Request", 421, `{"error":"no"}`}, {"422 Unprocessable Entity", 422, `{"error":"no"}`},
	{"451 Unavailable For Legal Reasons", 451, `{"error":"no"}`},
	{"404 Not Found, a web page", 404, "<html><body>Not Found</body></html>"},
	{"204 without content", 204, ""}, {"200 without content", 200, ""}, {"200 with {}", 200, "{}"},
	{"200 with null", 200, "null"}, {"200 with other JSON", 200, `{"fine":true}`},
}

// Useless is Live with calls of two routes that got answers of no use since 20 s.
func Useless(status int, shape, said string) verdict.Facts {
	fault := reach.Fault{Class: reach.Useless, Status: status, Shape: shape, Said: said}
	f := Call(fault)
	f.Calls = append(f.Calls, Now(verdict.Call{Class: "general", Route: "GET /v2/user", Failed: Noon.Add(-time.Second),
		Since: Noon.Add(-time.Second), Fault: fault}))
	return f
}

// With changes facts.
func With(f verdict.Facts, change func(*verdict.Facts)) verdict.Facts { change(&f); return f }

// Sealed are the facts of a host that cannot use the key of its store.
func Sealed(k verdict.Key) verdict.Facts {
	k.File = "/state/opdeck.db.key"
	return verdict.Facts{Now: Noon, Key: Now(k)}
}

// InStore is Live with a store in that state.
func InStore(s verdict.StoreState, says string) verdict.Facts {
	return With(Live(), func(f *verdict.Facts) {
		f.Store = Now(verdict.Store{State: s, Engine: "PostgreSQL", Where: "db:5432", Says: says,
			Holder: "host a, process 9"})
	})
}

// Incident is the facts that a host has, and the first sentence that follows from them.
type Incident struct {
	Facts verdict.Facts
	Want  string
}

// Incidents are those of an evening on call, by name.
func Incidents() map[string]Incident {
	said := func(c reach.Class, status int, words string) reach.Fault {
		return reach.Fault{Class: c, Status: status, Said: words}
	}
	unread := func(what, key string) Incident {
		f := Login(reach.Fault{Class: reach.Unreadable, Status: 200, Said: what, Key: key})
		f.Attempts[0].Value.Next = f.Attempts[0].Value.At.Add(5 * time.Minute)
		return Incident{f, "The answer to a login (200) cannot be read: " + what + ". The login may have succeeded, so " +
			"opdeck does not repeat it before 12:04:20 UTC, unless the config changes or a person logs in."}
	}
	ended := Noon.Add(-48 * time.Hour)
	out := map[string]Incident{
		"01 DNS":           {Login(said(reach.NoName, 0, "")), "The name stage.example.com cannot be looked up."},
		"02 refused":       {Login(said(reach.NoPort, 0, "")), "stage.example.com refuses connections."},
		"03 connect hangs": {Login(said(reach.NoConnect, 0, "")), "No connection to stage.example.com: nothing answers."},
		"04 TLS expired": {Login(reach.Fault{Class: reach.TLSExpired, Until: ended}),
			"The certificate of stage.example.com expired on 2026-02-28 12:00 UTC."},
		"04 TLS not valid yet": {Login(reach.Fault{Class: reach.TLSEarly, Until: Noon.Add(48 * time.Hour)}),
			"The certificate of stage.example.com is not valid before 2026-03-04 12:00 UTC."},
		"500 everywhere": {Login(said(reach.Failed, 500, "")), "stage.example.com fails (500)."},
		"05 TLS name": {Login(reach.Fault{Class: reach.TLSName, Names: "old.example.com"}),
			"The certificate of stage.example.com is for another name (old.example.com)."},
		"06 TLS authority": {Login(said(reach.TLSIssuer, 0, "")),
			"The certificate of stage.example.com is from an authority that is not known here."},
		"07 TLS 1.0": {Login(said(reach.TLSVersion, 0, "")), "stage.example.com does not offer TLS 1.2 or newer."},
		"no TLS":     {Login(said(reach.NoTLS, 0, "")), "stage.example.com speaks no TLS on the port that base_url uses."},
		"08 plain HTTP": {Login(said(reach.PlainHTTP, 0, "")),
			"stage.example.com answers with plain HTTP on the port that base_url uses for https."},
		"09 http to TLS": {Login(said(reach.HTTPToTLS, 0, "")),
			"stage.example.com expects TLS on the port that base_url uses for plain http."},
		"10 captive page": unread("it is a web page; it begins with “<!doctype html><html><body>…</body></html>”", ""),
		"11 proxy wrong": {Login(reach.Fault{Class: reach.ProxyFault, Target: "proxy:3128"}),
			"The proxy proxy:3128 cannot be reached."},
		"11 proxy ignored": {With(Login(said(reach.NoConnect, 0, "")), func(f *verdict.Facts) {
			f.Config = Now(verdict.Config{Ignored: []string{"HTTPS_PROXY"}})
		}), "No connection to stage.example.com: nothing answers."},
		"12 proxy 407": {Login(said(reach.ProxyAsks, 407, "")), "The proxy requires a login (407)."},
		"13 503 Retry-After": {Login(reach.Fault{Class: reach.Maintenance, Status: 503, After: 2 * time.Minute}),
			"stage.example.com is under maintenance or overloaded (503). It asks to wait until 12:01:20 UTC."},
		"14 502": {Login(said(reach.Gateway, 502, "")),
			"A gateway in front of stage.example.com gets no answer from the service (502)."},
		"15 429 at login": {Login(reach.Fault{Class: reach.Throttled, Status: 429, After: time.Minute}),
			"The service refused a login (429: too many requests). It asks to wait until 12:00:20 UTC."},
		"16 429 billing": {With(Live(), func(f *verdict.Facts) {
			f.Budgets = []verdict.Fact[verdict.Budget]{Now(verdict.Budget{Class: "billing", Asked: true,
				AskedT: Noon.Add(-5 * time.Second),
				Until:  Noon.Add(55 * time.Second)})}
		}),
			"The service refused a billing call (429). opdeck sends no billing call before 12:00:55 UTC."},
		"17 wrong password": {Login(said(reach.Password, 401, "Invalid credentials")),
			`The service refuses the login or password of m•••@example.com. It says: "Invalid credentials".`},
		"18 locked 423": {Login(said(reach.Locked, 423, "")),
			"The service has locked the machine account m•••@example.com."},
		"19 locked 403": {Login(said(reach.Refused, 403, "Account is locked.")),
			`The service refuses the login of m•••@example.com (403). It says: "Account is locked".`},
		"20 two-factor": {Login(said(reach.TwoFactor, 401, "")),
			"The service requires a two-factor code, which a machine account cannot give."},
		"21 no route": {Login(said(reach.NoRoute, 404, "")), "stage.example.com has no login at this address (404)."},
		"22 login disabled": {Login(said(reach.Refused, 403, "API login is disabled")),
			`The service refuses the login of m•••@example.com (403). It says: "API login is disabled".`},
		"23 410": {Login(said(reach.Gone, 410, "Use v3")),
			`stage.example.com no longer offers this version of its interface (410). It says: "Use v3".`},
		"24 garbage": unread("it is not JSON; it begins with “garbage”", ""),
		"25 slow": {Call(said(reach.Slow, 0, "")),
			"stage.example.com accepts connections but does not answer in time."},
		"26 cut": {Call(said(reach.Cut, 0, "")), "stage.example.com closes connections before its answer is complete."},
		"27 billing 500": {With(Call(said(reach.Failed, 500, "")), func(f *verdict.Facts) { f.Calls[0].Value.Good = Noon }),
			"Only billing calls fail: stage.example.com fails (500)."},
		"28 foreign": {With(Live(), func(f *verdict.Facts) { f.Session.Value.Foreign, f.Session.Value.ForeignAt = 1, Noon }),
			"Our session was ended once in the last ten minutes (12:00:00 UTC): another client logged in, or the " +
				"service ended it."},
		"29 tokens end early": {With(Live(), func(f *verdict.Facts) {
			f.Session.Value.Foreign, f.Session.Value.ForeignAt, f.Session.Value.EndsAfter = 3, Noon, 30*time.Second
		}), "Access tokens end after about 30s, before they expire: another client logs in that often, or the service ends " +
			"them early."},
		"34 database's clock": {With(Live(), func(f *verdict.Facts) {
			f.Clock = Now(verdict.Clock{Host: "a", Ahead: time.Second, Database: -time.Hour})
		}), "The clock of the database is 1h 00m behind that of the service."},
		"38 permissions": {InStore(verdict.StoreDenied, ""), "The permissions of db:5432 do not let this user write the " +
			"shared store. No process logs in or refreshes without it."},
		"54 holder stopped in a login": {With(Base(), func(f *verdict.Facts) {
			f.Session.Value.Holder, f.Session.Value.Holding = "host a, process 9", "login"
			f.Session.Value.HolderSince = Noon.Add(-8 * time.Second)
		}), "A login by host a, process 9 does not end; calls wait for it."},
		"answer too long": unread("it is longer than any answer to a login; it begins with “{\"accessToken\":\"…\"”", ""),
		"login in br":     unread("its Content-Encoding is br, which opdeck does not read", ""),
		"refused, wait": {Login(reach.Fault{Class: reach.Refused, Status: 403, After: 4 * time.Minute}),
			"The service refuses the login of m•••@example.com (403). It asks to wait until 12:03:20 UTC."},
		"replacement interrupted": {With(Live(), func(f *verdict.Facts) {
			f.Writes = Now(verdict.Writes{Stuck: 1, StuckSince: Noon.Add(-time.Hour)})
		}), "1 replacement was interrupted between two steps."},
		"30 refresh refused, login 503": {With(Login(said(reach.Maintenance, 503, "")), func(f *verdict.Facts) {
			f.Attempts = append(f.Attempts, Now(verdict.Attempt{Kind: "refresh", At: Noon.Add(-time.Minute),
				Fault: said(reach.Refused, 401, "")}))
		}), "stage.example.com is under maintenance or overloaded (503)."},
		"refresh refused, login not answered yet": {With(Live(), func(f *verdict.Facts) {
			f.Attempts = []verdict.Fact[verdict.Attempt]{Now(verdict.Attempt{Kind: "refresh", At: Noon.Add(-9 * time.Second),
				Fault: said(reach.Refused, 401, "")})}
		}), "No fault known."},
		"refresh fails, login not answered yet": {With(Live(), func(f *verdict.Facts) {
			f.Attempts = []verdict.Fact[verdict.Attempt]{Now(verdict.Attempt{Kind: "refresh", At: Noon.Add(-9 * time.Second),
				Fault: said(reach.Failed, 500, "")})}
		}), "No fault known."},
		"refresh fails, and again": {With(Live(), func(f *verdict.Facts) {
			f.Attempts = []verdict.Fact[verdict.Attempt]{Now(verdict.Attempt{Kind: "login", At: Noon.Add(-time.Second),
				Fault: said(reach.Failed, 500, "")}), Now(verdict.Attempt{Kind: "refresh", At: Noon.Add(-9 * time.Second),
				Fault: said(reach.Failed, 500, "")})}
		}), "stage.example.com fails (500)."},
		"refresh never works": {With(Live(), func(f *verdict.Facts) {
			s := &f.Session.Value
			s.Unrefreshed, s.RefreshSince, s.RefreshFault = 3, Noon.Add(-time.Hour), said(reach.NoRoute, 404, "no such route")
		}), `No refresh works (GET /v2/auth/refresh/…: no such address, HTTP status 404: "no such route"). opdeck logs in ` +
			"each time, which ends all other sessions of the account."},
		"refresh is always refused": {With(Live(), func(f *verdict.Facts) {
			s := &f.Session.Value
			s.Unrefreshed, s.RefreshSince, s.RefreshFault = 3, Noon.Add(-time.Hour), said(reach.Refused, 401, "no")
		}), `No refresh works (GET /v2/auth/refresh/…: refused, HTTP status 401: "no"). Either another client of the ` +
			"account logs in or refreshes before opdeck does, or the service's refresh does not work. opdeck logs in " +
			"each time, which ends all other sessions of the account."},
		"31 life 5 s": {With(Live(), func(f *verdict.Facts) { f.Session.Value.ShortLife = 5 * time.Second }),
			"The service's access tokens are valid for only 5s; calls wait for new ones."},
		"32 no tokens": unread("it has no access token under a known name; it contains “ok” (true or false)",
			"access_token_field"),
		"33 clock behind": {With(Live(), func(f *verdict.Facts) {
			f.Clock = Now(verdict.Clock{Host: "a",
				Ahead: -time.Hour})
		}),
			"The clock of a is 1h 00m behind that of the service."},
		"34 clock ahead": {With(Live(), func(f *verdict.Facts) { f.Clock = Now(verdict.Clock{Host: "a", Ahead: time.Hour}) }),
			"The clock of a is 1h 00m ahead of that of the service."},
		"35 store locked": {InStore(verdict.StoreLocked, ""),
			"Another process has locked the shared store at db:5432: host a, " +
				"process 9. No process logs in or refreshes without it."},
		"36 store deleted": {InStore(verdict.StoreDeleted, ""),
			"The file of the shared store at db:5432 was deleted or replaced. " +
				"No process logs in or refreshes without it."},
		"37 disk full": {InStore(verdict.StoreFull, ""),
			"The disk of the shared store at db:5432 is full. No process logs in " +
				"or refreshes without it."},
		"38 read-only fs": {InStore(verdict.StoreReadOnly, ""),
			"The shared store (PostgreSQL at db:5432) is read-only. No process logs in or refreshes without it."},
		"39 database down": {InStore(verdict.StoreAbsent, ""),
			"The shared store (PostgreSQL at db:5432) does not answer. No " +
				"process logs in or refreshes without it."},
		"40 database password": {InStore(verdict.StoreLogin, "password authentication failed"),
			"The shared store (PostgreSQL at db:5432) refuses opdeck's user or password. No process logs in or refreshes " +
				`without it. It says: "password authentication failed".`},
		"41 too many connections": {InStore(verdict.StoreBusy, ""),
			"The shared store (PostgreSQL at db:5432) has no free connection. No process logs in or refreshes without it."},
		"41 no such database": {InStore(verdict.StoreMissing, ""),
			"The database of the shared store (PostgreSQL at db:5432) does not exist. No process logs in or refreshes " +
				"without it."},
		"42 standby": {InStore(verdict.StoreReadOnly, ""),
			"The shared store (PostgreSQL at db:5432) is read-only. No process logs in or refreshes without it."},
		"damaged store": {InStore(verdict.StoreDamaged, ""),
			"The shared store at db:5432 is damaged: what needs the damaged part fails."},
		"43 no webhooks": {With(Live(), func(f *verdict.Facts) {
			f.Feed = Now(verdict.Feed{Expected: true, Stalled: true, Last: Noon.Add(-time.Hour), Usual: 4 * time.Minute})
		}), "No webhook has arrived since 11:00:00 UTC; usually one arrives within 4m."},
		"44 wrong secret": {With(Live(), func(f *verdict.Facts) {
			f.Feed = Now(verdict.Feed{Expected: true, Rejected: 3, At: Noon,
				Why: "signed with another secret than [webhooks] secret_env"})
		}), "The receiver rejected 3 deliveries, the last one at 12:00:00 UTC: signed with another secret than [webhooks] " +
			"secret_env."},
		"45 port in use": {With(Live(), func(f *verdict.Facts) {
			f.Serves = []verdict.Fact[verdict.Serve]{Now(verdict.Serve{Host: "a", PID: 7, Ended: Noon, Ports: []verdict.Port{{
				Name: "webhooks", Addr: "127.0.0.1:8788", Fault: "the address is in use"}}})}
		}), "opdeck does not listen for webhooks on 127.0.0.1:8788: the address is in use."},
		"serve was never started": {With(Live(), func(f *verdict.Facts) {
			f.Serves = []verdict.Fact[verdict.Serve]{Now(verdict.Serve{Host: "a"})}
		}), "opdeck serve does not run on a."},
		"serve was killed": {With(Live(), func(f *verdict.Facts) {
			f.Serves = []verdict.Fact[verdict.Serve]{Now(verdict.Serve{Host: "a", PID: 7})}
		}), "opdeck serve does not run on a."},
		"serve was ended": {With(Live(), func(f *verdict.Facts) {
			f.Serves = []verdict.Fact[verdict.Serve]{Now(verdict.Serve{Host: "a", PID: 7, Ended: Noon})}
		}), "opdeck serve does not run on a."},
		"serve stands still": {With(Live(), func(f *verdict.Facts) {
			f.Serves = []verdict.Fact[verdict.Serve]{Now(verdict.Serve{Host: "a", PID: 7, Runs: true,
				Silent: Noon.Add(-3 * time.Minute)})}
		}), "opdeck serve on a (process 7) was seen last at 11:57:00 UTC: it stands still, or cannot reach the shared " +
			"store."},
		"serve of another host is not seen": {With(Live(), func(f *verdict.Facts) {
			f.Serves = []verdict.Fact[verdict.Serve]{Now(verdict.Serve{Host: "b", PID: 7, Silent: Noon.Add(-3 * time.Minute)})}
		}), "opdeck serve on b (process 7) was seen last at 11:57:00 UTC: it has ended, stands still, or cannot reach the " +
			"shared store."},
		"46 config": {With(Live(), func(f *verdict.Facts) {
			f.Config = Now(
				verdict.Config{Mistakes: []string{"config.toml:3: unknown key."}})
		}),
			"The config has 1 mistake: config.toml:3: unknown key."},
		"47 unknown key": {With(Live(), func(f *verdict.Facts) {
			f.Config = Now(verdict.Config{Mistakes: []string{"config.toml:3: unknown key."}})
		}), "The config has 1 mistake: config.toml:3: unknown key."},
		"48 config that others may write": {With(Live(), func(f *verdict.Facts) {
			f.Config = Now(verdict.Config{Mistakes: []string{"config.toml: others may write to it (mode 0666); chmod go-w."}})
		}), "The config has 1 mistake: config.toml: others may write to it (mode 0666); chmod go-w."},
		"a process with an older config": {With(Live(), func(f *verdict.Facts) {
			f.Outdated = []verdict.Fact[verdict.Outdated]{Now(verdict.Outdated{Host: "a", PID: 7, File: "config.toml"})}
		}), "Process 7 of a runs with an older config than config.toml has now."},
		"51 password command fails": {With(Base(), func(f *verdict.Facts) {
			f.Password = Now(verdict.Password{Source: "password_command",
				Fault: "password_command ended with 3: the vault is sealed"})
		}), "The password of the machine account is not available: password_command ended with 3: the vault is sealed."},
		"49 password missing": {With(Base(), func(f *verdict.Facts) {
			f.Password = Now(verdict.Password{Source: "password_env", Fault: "the variable OPDECK_PASSWORD is empty"})
		}), "The password of the machine account is not available: the variable OPDECK_PASSWORD is empty."},
		"50 password command hangs": {With(Base(), func(f *verdict.Facts) {
			f.Password = Now(verdict.Password{Source: "password_command", Fault: "password_command did not end within 10 s"})
		}), "The password of the machine account is not available: password_command did not end within 10 s."},
		"52 audit key": {With(Live(), func(f *verdict.Facts) { f.Audit = Now(verdict.Audit{NoKey: true, Writable: true}) }),
			"This host has no audit key, so opdeck sends no writes from here."},
		"53 audit bent": {With(Live(), func(f *verdict.Facts) {
			f.Audit = Now(verdict.Audit{Broken: []string{"record 12 was changed."}, Writable: true})
		}), "The audit trail does not verify: record 12 was changed."},
		"another trail": {With(Live(), func(f *verdict.Facts) {
			f.Audit = Now(verdict.Audit{Another: true, Writable: true,
				Broken: []string{"audit-1.jsonl holds checkpoints of another trail: the store was made anew or replaced"}})
		}), "The audit trail is not the one that this host has signed: audit-1.jsonl holds checkpoints of another trail: " +
			"the store was made anew or replaced."},
		"no write can be recorded": {With(Live(), func(f *verdict.Facts) {
			f.Audit = Now(verdict.Audit{Says: "permission denied for table unsettled"})
		}), "The shared store cannot record a write, so opdeck sends none. It says: \"permission denied for table " +
			"unsettled\"."},
		"54 holder stopped": {With(Live(), func(f *verdict.Facts) {
			f.Session.Value.Holder, f.Session.Value.HolderSince = "host a, process 9", Noon.Add(-8*time.Second)
		}), "A refresh by host a, process 9 does not end; calls wait for it."},
		"damaged index": {With(Live(), func(f *verdict.Facts) {
			f.Index = Now(verdict.Index{Damaged: "/var/lib/opdeck/opdeck-index.db", DamagedSince: Noon.Add(-time.Minute)})
		}), "The index at /var/lib/opdeck/opdeck-index.db is damaged, so lists and webhooks wait."},
		"57 index old": {With(Live(), func(f *verdict.Facts) {
			f.Index = Now(verdict.Index{Rows: 200, AsOf: Noon.Add(-6 * time.Hour), Whole: true, Due: time.Minute})
		}), "The lists are 6h 00m old."},
		"58 budget": {With(Live(), func(f *verdict.Facts) {
			f.Budgets = []verdict.Fact[verdict.Budget]{Now(verdict.Budget{Class: "billing", Next: Noon.Add(56 * time.Second),
				Full:  Noon.Add(-4 * time.Second),
				Users: []string{"borrower nightly used 12 of the 12"}})}
		}), "The budget of billing calls is used up until 12:00:56 UTC. borrower nightly used 12 of the 12."},
		"70 live, then 503": {Call(said(reach.Maintenance, 503, "")),
			"stage.example.com is under maintenance or overloaded (503)."},
		"71 live, then a page": {Call(said(reach.Page, 200, "")),
			"A web page arrives instead of an answer from stage.example.com: a login page of this network, or another server."},
		"72 live, then 410": {Call(said(reach.Gone, 410, "Use v3")),
			`stage.example.com no longer offers this version of its interface (410). It says: "Use v3".`},
		"73 live, then 302": {Call(reach.Fault{Class: reach.Moved, Status: 302, Target: "https://sso.example.com/"}),
			"stage.example.com redirects calls to https://sso.example.com/, and opdeck follows no redirects."},
		"live, then 500": {Call(said(reach.Failed, 500, "")), "stage.example.com fails (500)."},
		"live, then 502": {Call(said(reach.Gateway, 502, "")),
			"A gateway in front of stage.example.com gets no answer from the service (502)."},
		"live, then 504": {Call(said(reach.Gateway, 504, "")),
			"A gateway in front of stage.example.com gets no answer from the service (504)."},
		"live, then br": {Call(reach.Fault{Class: reach.Coded, Said: `"br"`}),
			`stage.example.com answers in an encoding that opdeck does not read: "br".`},
		"live, then garbage": {Call(said(reach.Garbage, 200, "")), "The answers of stage.example.com are not JSON."},
		"live, then TLS expired": {Call(reach.Fault{Class: reach.TLSExpired, Until: ended}),
			"The certificate of stage.example.com expired on 2026-02-28 12:00 UTC."},
		"live, then TLS name": {Call(reach.Fault{Class: reach.TLSName, Names: "old.example.com"}),
			"The certificate of stage.example.com is for another name (old.example.com)."},
		"75 live, then gone": {Call(said(reach.NoPort, 0, "")), "stage.example.com refuses connections."},
		"80 different key_file": {Sealed(verdict.Key{Fault: verdict.KeyOther}), "The key file /state/opdeck.db.key holds " +
			"another key than the one that seals the tokens in the shared store; opdeck makes no other one and does not " +
			"log in."},
		"81 key file deleted": {Sealed(verdict.Key{Fault: verdict.KeyMissing}), "The key file /state/opdeck.db.key is " +
			"missing. It seals the tokens in the shared store; opdeck makes no other one and does not log in."},
		"82 key file emptied": {Sealed(verdict.Key{Fault: verdict.KeyUnusable,
			Says: "is empty"}), "The key file /state/opdeck.db.key, which seals the tokens in the shared store, is empty; " +
			"opdeck makes no other one and does not log in."},
		"83 key file deleted, seen by a process": {With(Live(), func(f *verdict.Facts) {
			f.Key = Now(verdict.Key{File: "/state/opdeck.db.key", Fault: verdict.KeyMissing, Held: true})
		}), "The key file /state/opdeck.db.key is missing. It seals the tokens in the shared store. This process has the " +
			"right key in memory; no other one can start."},
		"84 key given up": {Sealed(verdict.Key{Fault: verdict.KeyGivenUp}), "The key of this process no longer seals the " +
			"tokens in the shared store: they were given up for another key."},
		"older store": {InStore(verdict.StoreOlder, ""),
			"The shared store at db:5432 belongs to an older version of opdeck and was not migrated."},
		"newer store": {InStore(verdict.StoreNewer, ""),
			"A newer version of opdeck has changed the shared store at db:5432; this version cannot use it."},
		"writes in doubt": {With(Live(), func(f *verdict.Facts) {
			f.Writes = Now(verdict.Writes{Doubtful: 1,
				Oldest: Noon.Add(-time.Hour)})
		}), "1 write has an unknown outcome, the oldest since 11:00:00 UTC."},
		"certificate ends": {With(Live(), func(f *verdict.Facts) {
			f.Certificate = Now(
				verdict.Certificate{Until: Noon.Add(72 * time.Hour)})
		}), "The certificate of stage.example.com ends on 2026-03-05 12:00 UTC."},
		"nothing wrong":      {Live(), "No fault known."},
		"nothing called yet": {Base(), "No fault known. Not known now: service, session."},
	}
	for _, one := range Shapes {
		words, quote := "", ""
		if one.Body == `{"error":"no"}` {
			words, quote = "no", ` It says: "no".`
		}
		out["live, then "+one.Shape] = Incident{Useless(one.Status, one.Shape, words),
			"No answer of stage.example.com can be used: " + one.Shape + "." + quote}
	}
	return out
}
