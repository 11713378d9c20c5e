package config

import (
	"maps"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/lending"
)

// Config is the whole file with defaults filled in. What the fields mean is said once, in sections.
type Config struct {
	DefaultContext string
	Store          struct{ URL, KeyFile string }
	Backup         Backup
	Contexts       map[string]Context
	Limits         struct {
		Policy    string // wait, warn
		MaxWait   Duration
		PerMinute map[limit.Class]int
	}
	Service Service
	Writes  struct{ SettleWait, LateAfter Duration }
	Index   struct {
		Enabled bool
		MaxAge  Duration
	}
	Retention struct{ Days int } // 0: for ever
	Webhooks  struct {
		Listen, Path, Verify, Header string
		Algorithms                   []string
		MaxAge                       Duration
		SecretEnv, SecretFile        string
		TLSCert, TLSKey              string
		BehindProxy                  bool
	}
	SSH struct {
		Listen, HostKey, AuthorizedKeys, TrustedCA string
		IdleTimeout                                Duration
		MaxSessions                                int
	}
	Serve Serve
	Lend  struct {
		Socket, Listen string
		Borrowers      map[string]Borrower
	}
	Audit struct {
		Checkpoints, KeyFile string
		Keys                 []string
	}
	UI struct {
		Theme, TimeZone string
		Mask, Mouse     bool
		IdleVeil        Duration // 0: never
		Columns         []string
	}
	Views  map[string]View
	Keys   map[string]any // by the names of docs/keys.md; see Presses
	Notify Notify

	// Path is the file that was read, "" for none.
	Path string
}

// Backup says how opdeck backup seals snapshots: for recipients if there are any, else with a passphrase.
type Backup struct {
	Recipients     []string
	PassphraseFile string
}

// Context is one account at one service.
type Context struct {
	Name                                       string // its key in the file
	BaseURL, Login                             string
	PasswordEnv, PasswordFile, PasswordCommand string
	Kind                                       Kind
	ReadOnly                                   bool
	CAFile                                     string
	Timeout                                    Duration
	Approval                                   string // none, second_person
	Role                                       api.Role
	Sandbox                                    bool
	Serve                                      Place
	Proxy                                      string // copied from [service]: "", EnvironmentProxy or an address
}

// Place is where opdeck serve -c NAME listens, and for whom, where that differs from the sections of the file; "": as
// they say, Off: not at all.
type Place struct{ SSH, AuthorizedKeys, Webhooks, SecretFile, Lend, Socket, Metrics string }

// Service holds settings for what the service's documents leave open.
type Service struct {
	Proxy, ShareTokenField, ListField, UploadIDField, LinkField string
	AccessToken, RefreshToken, AccessTTL, RefreshTTL            string
	ListPageSize                                                int
	Paging, PageName, PageSizeName                              string
	FirstPage                                                   int
	CursorName, CursorField                                     string
	StatusWords                                                 map[string]string
	AmountIgnore                                                []string
}

// Serve is where opdeck serve tells what it does.
type Serve struct{ Metrics, LogFormat, LogLevel string }

// Borrower is a script with a key.
type Borrower struct {
	KeyEnv, KeyFile string
	Role            api.Role
	Priority        lending.Priority
	PerMinute       int
	Reveal          bool
}

// View is a saved view of the operations list.
type View struct {
	Filter, Sort string
	Columns      []string // empty: those of UI
}

// Notify is who is told what is wrong.
type Notify struct {
	Command                    []string
	URL, SecretEnv, SecretFile string
	Min                        string
}

// sections are all keys of the file in its order, each said once: its place in Config, default, check, what else it
// is, and help. From them follow reading, checking, config.example.toml, opdeck config show and the names that a
// mistake suggests. With a context, a borrower or a view in c they have its keys too.
func (c *Config) sections() []section {
	out := []section{
		{keys: []key{row("default_context", &c.DefaultContext, "", `
Which context opens when no --context is given. Empty: the only one there is, or the
built-in service.`)}},
		{at: toml.Key{"store"}, keys: []key{
			row("url", &c.Store.URL, "sqlite", `
"sqlite": two files in the state folder, for one host. "sqlite:/path/opdeck.db": the
same, elsewhere. "memory": nothing is kept. "postgres://user@host/db": an existing
database, for many hosts.`, storeURL).as(secretURL),
			row("key_file", &c.Store.KeyFile, "", `
32 random bytes in hex that seal the tokens at rest. Empty: made beside the SQLite file.
Required for PostgreSQL, the same file on every host.`),
		}},
		{at: toml.Key{"backup"}, help: `
How opdeck backup seals its files, which hold the keys.`, keys: []key{
			row("recipients", &c.Backup.Recipients, nil, `
Public keys of age ("age1…"): only their identities open a file. Empty: a passphrase.`, each(recipient)),
			row("passphrase_file", &c.Backup.PassphraseFile, "", `
The passphrase, of at least 12 characters: a file of mode 0400 or 0600. Empty: the
environment variable OPDECK_BACKUP_PASSPHRASE, or opdeck asks for it.`).as(secretText),
		}},
		{at: toml.Key{"limits"}, keys: []key{
			row("policy", &c.Limits.Policy, "wait", `
"wait": calls keep to the recommended rate. "warn": opdeck sends them at once and marks
those above the rate.`, oneOf("wait", "warn")),
			row("max_wait", &c.Limits.MaxWait, seconds(30), `
How long a call may wait for a free slot before it fails.`, positive),
			row("per_minute", &c.Limits.PerMinute, limit.Recommended(), `
Recommended calls per minute and endpoint class, all opdeck processes together.`, classes),
		}},
		{at: toml.Key{"service"}, keys: c.Service.keys()},
		{at: toml.Key{"writes"}, keys: []key{
			row("settle_wait", &c.Writes.SettleWait, seconds(10), `
If the answer to a write does not prove its outcome, opdeck checks with up to four calls
within this time before it reports "unknown" ("0": it checks once).`, within(0, 5*time.Minute)),
			row("late_after", &c.Writes.LateAfter, seconds(15*60), `
opdeck checks an unknown write again, less and less often, until its outcome is proven,
or for this long after it was sent. Then it reports "not seen", never "not done".`, positive),
		}},
		{at: toml.Key{"index"}, help: `
A local copy of operations, so that browsing costs no call.`, keys: []key{
			row("enabled", &c.Index.Enabled, true, `
false: opdeck writes nothing of it to disk, and reads nothing in the background.`),
			row("max_age", &c.Index.MaxAge, seconds(60), `
How often opdeck looks for new operations. If calls are left over, it reads every
operation again within 15 times this time.`, positive),
		}},
		{at: toml.Key{"retention"}, keys: []key{row("days", &c.Retention.Days, 365, `
How long the store keeps data that is no longer in use; 0: for ever. These are webhook
deliveries, earlier states of operations, operations that the service no longer has,
and replacements and requests for approval that ended. Audit records and notes stay. Set
the same value in every program that uses one store: the shortest time wins.`, between(0, 36500))}},
		{at: toml.Key{"webhooks"}, keys: []key{
			row("listen", &c.Webhooks.Listen, "", `
Address to receive webhooks at, for example "127.0.0.1:8788". Empty: off.`, anAddress).as(address),
			row("path", &c.Webhooks.Path, "/hooks", "", fromRoot),
			row("verify", &c.Webhooks.Verify, "jwt", `
How a delivery proves its origin: jwt, header, or none (loopback
addresses only).`, oneOf("jwt", "header", "none")),
			row("header", &c.Webhooks.Header, "Authorization", `
The header that holds the JWT (with or without "Bearer " before it) or the secret.`),
			row("algorithms", &c.Webhooks.Algorithms, []string{"HS256"}, `
Allowed signature algorithms of a JWT: HS256, HS384, HS512. opdeck supports no others and
never accepts a token without a signature.`, some, each(oneOf("HS256", "HS384", "HS512"))),
			row("max_age", &c.Webhooks.MaxAge, seconds(5*60), `
The oldest signature that opdeck accepts. Until its exp, an older JWT is accepted too if
it covers the body, or if it comes with the same body as the first time. "0s": no limit;
then opdeck accepts tokens without iat and exp too, and a person who captures a token can
use it until it expires.`, within(0, 720*time.Hour)),
			row("secret_env", &c.Webhooks.SecretEnv, "", `
The secret: the name of an environment variable, or a file of mode 0400 or 0600. During
rotation a second line of it holds the old secret.`).as(secretEnv),
			row("secret_file", &c.Webhooks.SecretFile, "", "").as(secretLines),
			row("tls_cert", &c.Webhooks.TLSCert, "", `
Certificate and key; required for an address that is not loopback, unless a proxy on this
host does TLS (behind_proxy = true).`).as(file),
			row("tls_key", &c.Webhooks.TLSKey, "", "").as(file),
			row("behind_proxy", &c.Webhooks.BehindProxy, false, ""),
		}},
		{at: toml.Key{"ssh"}, keys: []key{
			row("listen", &c.SSH.Listen, "", `
Address to serve the console at, for example "127.0.0.1:2222". Empty: off.`, anAddress).as(address),
			row("host_key", &c.SSH.HostKey, "", ""),
			row("authorized_keys", &c.SSH.AuthorizedKeys, "", `
OpenSSH format, with opdeck's options: name="ana",role="operator"`),
			row("trusted_ca", &c.SSH.TrustedCA, "", `
Public key of a CA whose user certificates are accepted.`),
			row("idle_timeout", &c.SSH.IdleTimeout, seconds(15*60), "", positive),
			row("max_sessions", &c.SSH.MaxSessions, 200, "", between(1, 100_000)),
		}},
		{at: toml.Key{"serve"}, keys: []key{
			row("metrics", &c.Serve.Metrics, "", `
Address for Prometheus, for example "127.0.0.1:9787". Empty: off.`, anAddress).as(address),
			row("log_format", &c.Serve.LogFormat, "logfmt", `
opdeck serve logs to standard error, in addition to --log-file: starts, SSH logins and
refusals, rejected deliveries (one line a minute for each reason), changes of the verdict,
reloads, notices. "logfmt" or "json"; from debug, info, warn or error on.`, oneOf("logfmt", "json")),
			row("log_level", &c.Serve.LogLevel, "info", "", oneOf("debug", "info", "warn", "error")),
		}},
		{at: toml.Key{"notify"}, help: `
Who is told what is wrong: when the first cause of opdeck check begins or ends, and when
a write waits for a second person. opdeck serve tells each once, whichever of its
instances finds it (docs/alerts.md). opdeck notify test tries it.`, keys: []key{
			row("command", &c.Notify.Command, nil, `
A program with its arguments, without a shell. The notice is JSON on its standard input;
OPDECK_NOTICE_ID, _KIND, _SEVERITY, _SENTENCE, _COMMAND hold parts of it. It has 20 s;
another exit code than 0 means that it is tried again. ["/usr/local/bin/page", "payments"]`, program).as(secretWords),
			row("url", &c.Notify.URL, "", `
Or an address that gets the notice as JSON in a POST, signed as Standard Webhooks with
secret_env or secret_file (mode 0400 or 0600): https://, or http:// to this host.`, noticeURL).as(secretPath),
			row("secret_env", &c.Notify.SecretEnv, "", "").as(secretEnv),
			row("secret_file", &c.Notify.SecretFile, "", "").as(secretText),
			row("min", &c.Notify.Min, "warning", `
The mildest cause that is told: "warning" or "critical".`, oneOf("warning", "critical")),
		}},
		{at: toml.Key{"lend"}, help: `
Lends the session to scripts: opdeck serve and opdeck session proxy answer the service's
own paths there and add the token (docs/lending.md). Empty: off.`, keys: []key{
			row("socket", &c.Lend.Socket, "", `
The path of a Unix socket, for this user alone.`, absolute),
			row("listen", &c.Lend.Listen, "", `
A loopback address, for example "127.0.0.1:8789". Each borrower sends its own key.`, loopback).as(address),
		}},
		{at: toml.Key{"audit"}, keys: []key{
			row("checkpoints", &c.Audit.Checkpoints, "", `
Folder for the signed checkpoints of the audit trail, preferably on another disk or host.
Empty: beside the store.`),
			row("key_file", &c.Audit.KeyFile, "", `
Ed25519 key that signs them. Empty: made beside the store.`),
			row("keys", &c.Audit.Keys, nil, `
Public keys of other hosts that sign for the same store. opdeck audit checkpoint prints
each on its host (the line that begins with opdeck.audit/).`, each(auditKey)),
		}},
		{at: toml.Key{"ui"}, keys: []key{
			row("theme", &c.UI.Theme, "auto", `
auto, dark, light, mono or high-contrast; auto has the terminal's own sixteen colours and reads on black and on white.`,
				oneOf("auto", "dark", "light", "mono", "high-contrast")),
			row("time_zone", &c.UI.TimeZone, "local", `
local or UTC.`, oneOf("local", "UTC")),
			row("mask", &c.UI.Mask, true, `
Account numbers and the like are masked until revealed.`),
			row("idle_veil", &c.UI.IdleVeil, seconds(15*60), `
After this time without a key, the local console goes blank until the next key; "0":
never. SSH: [ssh] idle_timeout.`, veil),
			row("mouse", &c.UI.Mouse, false, `
true: the wheel scrolls, a click selects a row, a second click opens it, a click on a
column's title sorts by it; hold shift to select text in the terminal. The mouse never
answers a question.`),
			row("columns", &c.UI.Columns, nil, `
Columns of the operations list for people who have not chosen their own with c. Empty:
the default columns. "amount:24" is 24 cells wide; "documents!" stays when there is no
room for all. The columns are id, status, type, payment, created, updated, currency,
amount, received, commission, balance, customer, cuid, source, destination, reference,
comment, documents, parent and visible.`, columns),
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		x := c.Contexts[name]
		x.Name = name
		out = append(out, x.sections(func(x Context) { c.Contexts[name] = x })...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Lend.Borrowers)) {
		out = append(out, c.Lend.Borrowers[name].section(name, func(b Borrower) { c.Lend.Borrowers[name] = b }))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Views)) {
		out = append(out, c.Views[name].section(name, func(v View) { c.Views[name] = v }))
	}
	return out
}

func (s *Service) keys() []key {
	return []key{
		row("proxy", &s.Proxy, "", `
Proxy for all calls to the service. "": no proxy, whatever the environment says.
"environment": HTTPS_PROXY and NO_PROXY. Or an address, such as
"http://proxy.example.com:3128" (http, https, socks5). Calls to this host use no proxy.`, proxy).as(secretURL),
		row("share_token_field", &s.ShareTokenField, "token", `
The following names are not in the service's documents; the defaults are our best guess.
The field of the share call that carries the share token.`, fieldName, given),
		row("list_field", &s.ListField, "", `
The field of a list's answer that holds the list: "operations", "data.rows". Empty, or if
an answer has no such field: items, or the name of the records (operations, customers),
data, list, results, rows. An error about a list that opdeck cannot find names the fields
that came.`, fieldName),
		row("upload_id_field", &s.UploadIDField, "", `
The field with the new file's id in the answer to an upload, in addition to id, guid,
documentId, fileId and uuid; "a.b" is b within a.`, fieldName),
		row("link_field", &s.LinkField, "", `
The field with the address in the answer with a verification link, in addition to url.`, fieldName),
		row("access_token_field", &s.AccessToken, "", `
The fields with the tokens and their lifetimes in the answer to a login or refresh, in
place of accessToken, refreshToken, accessTtl and refreshTtl, the same with _
(access_token), expires_in and refresh_expires_in.`, fieldName),
		row("refresh_token_field", &s.RefreshToken, "", "", fieldName),
		row("access_ttl_field", &s.AccessTTL, "", "", fieldName),
		row("refresh_ttl_field", &s.RefreshTTL, "", "", fieldName),
		row("list_page_size", &s.ListPageSize, 100, `
Items that opdeck asks for on each page of a list. The sync of the index starts with it.`, between(1, 1000)),
		row("paging", &s.Paging, "auto", `
How opdeck requests the pages of a list. "auto": by number, or by cursor or link if an
answer has one for the next page. "page": by number only. "offset": page_name carries the
number of rows before the page. "cursor": by the value of cursor_field in the previous
page. "none": one answer holds the whole list. opdeck index status and opdeck doctor say
when the pages do not lead to the end.`, oneOf("auto", "page", "offset", "cursor", "none")),
		row("page_name", &s.PageName, api.PageName, `
Names in the query: of the page's number or offset, and of its size.`, parameter, given),
		row("page_size_name", &s.PageSizeName, api.SizeName, "", parameter, given),
		row("first_page", &s.FirstPage, 0, `
The number of the first page: 0 or 1.`, between(0, 1)),
		row("cursor_name", &s.CursorName, "", `
The name in the query for the cursor, and the field of the answer that holds the next
cursor ("meta.next"). Empty: next, nextCursor or nextPageToken, beside the list or in
meta; the query has cursor or pageToken.`, parameter),
		row("cursor_field", &s.CursorField, "", "", fieldName),
		row("status_words", &s.StatusWords, nil, `
Status words that are not in the service's documents, and their meaning: "open",
"completed", "failed" or "canceled". Example: { SETTLED = "completed" }`, phases),
		row("amount_ignore", &s.AmountIgnore, nil, `
Members that may stand beside currencyCode, units and nanos of an amount because they do
not change it, such as "formatted". Beside any other member the amount is not known: it is
shown as "?" and is in no sum and no filter.`, each(amountNeighbour)),
	}
}

func (x Context) sections(keep func(Context)) []section {
	kept := func() { keep(x) }
	return []section{
		{at: toml.Key{"contexts", x.Name}, kept: kept, help: `
A context is one account at one service.`, keys: []key{
			row("base_url", &x.BaseURL, "", "", orEmpty(CheckBaseURL)),
			row("login", &x.Login, "", ""),
			row("password_env", &x.PasswordEnv, "", `
The password: set one of an environment variable, a file of mode 0400 or 0600, or a
command that prints it.`).as(secretEnv),
			row("password_file", &x.PasswordFile, "", "").as(secretText),
			row("password_command", &x.PasswordCommand, "", "").as(secretWords),
			row("kind", &x.Kind, Test, `
"test" or "production"; the console marks production by word, colour and frame and asks
for typed confirmation.`, oneOf(Test, Production)),
			row("read_only", &x.ReadOnly, false, ""),
			row("ca_file", &x.CAFile, "", `
A certificate authority in addition to the system's.`).as(file),
			row("timeout", &x.Timeout, seconds(15), `
Of one call.`, positive),
			row("approval", &x.Approval, "none", `
"none" or "second_person" (for writes): another person approves each write. Over SSH two
people differ in key, login name and certificate id; locally they are two user ids of one
host. One over SSH and one not, or on two hosts, never count as two people. It does not
stop root, nor a person with the password of the account or the store.`, oneOf("none", "second_person")),
			row("role", &x.Role, api.Admin, `
What the person at this console may do: viewer, analyst, operator, oncall, admin.`, role),
			row("sandbox", &x.Sandbox, false, `
true: the built-in service instead of base_url.`),
		}},
		{at: toml.Key{"contexts", x.Name, "serve"}, kept: kept, help: `
What differs for opdeck serve -c from [ssh], [webhooks], [lend] and [serve]: the contexts
of one file need their own addresses. "": as there; "off": that part is off.`, keys: []key{
			row("ssh", &x.Serve.SSH, "", "", anAddress).as(address),
			row("authorized_keys", &x.Serve.AuthorizedKeys, "", ""),
			row("webhooks", &x.Serve.Webhooks, "", "", anAddress).as(address),
			row("secret_file", &x.Serve.SecretFile, "", "").as(secretLines),
			row("lend", &x.Serve.Lend, "", "", loopback).as(address),
			row("socket", &x.Serve.Socket, "", "", absolute),
			row("metrics", &x.Serve.Metrics, "", "", anAddress).as(address),
		}},
	}
}

func (b Borrower) section(name string, keep func(Borrower)) section {
	return section{at: toml.Key{"lend", "borrowers", name}, kept: func() { keep(b) }, help: `
A script that may use the session, with its own key. openssl rand -hex 32 makes one.`, keys: []key{
		row("key_env", &b.KeyEnv, "", `
An environment variable, or a file of mode 0400 or 0600.`).as(secretEnv),
		row("key_file", &b.KeyFile, "", "").as(secretText),
		row("role", &b.Role, api.Viewer, `
viewer, analyst, operator, oncall, admin.`, role),
		row("priority", &b.Priority, lending.Background, `
"background" leaves the last calls of a minute to people; "person" waits in the queue
like a person.`, oneOf(lending.Background, lending.Person)),
		row("per_minute", &b.PerMinute, 0, `
Its own limit, over all proxies; 0: no limit.`, between(0, 10_000)),
		row("reveal", &b.Reveal, false, `
true: answers are not masked, each is recorded; for roles that may reveal masked values.`),
	}}
}

func (v View) section(name string, keep func(View)) section {
	return section{at: toml.Key{"views", name}, kept: func() { keep(v) }, help: `
A saved view of the operations list.`, keys: []key{
		row("filter", &v.Filter, "", "", aFilter),
		row("sort", &v.Sort, "", "", aSort),
		row("columns", &v.Columns, nil, `
Empty: those of [ui].`, columns),
	}}
}

// retired are the keys that left, with what to write or do instead. The name of a section that a person chose is NAME.
var retired = map[string]string{
	"audit.archive": "audit records stay in the store; those of an older version's archive are imported from where it is",
	"audit.witnesses": "keep what opdeck audit checkpoint prints, and compare with " +
		"opdeck audit verify --against FILE",
	"backup.passphrase_env":     "put the passphrase in " + PassphraseEnv + ", or write passphrase_file",
	"backup.passphrase_command": "write passphrase_file, or put what the command prints in " + PassphraseEnv,
	"index.max_page_size":       "the sync finds the size that the service returns, up to 1000",
	"index.memory":              "write enabled = false, which keeps nothing on disk either",
	"notify.NAME": "write command, or url with secret_env or secret_file, and min below [notify]; it has one receiver, " +
		"other rules belong to Alertmanager (packaging/alerts.yml)",
	"notify.on":         "the begin and end of a first cause and writes that wait for approval are always told",
	"notify.for":        "use the for of a rule in packaging/alerts.yml",
	"notify.after":      "a write in doubt is a cause and is told as one",
	"notify.view":       viewRule,
	"notify.when":       viewRule,
	"notify.by":         viewRule,
	"notify.zone":       viewRule,
	"retention.inbox":   days,
	"retention.history": days,
	"retention.gone":    days,
	"retention.ended":   days,
	"retention.audit":   "audit records are never removed",
	"store.migrate":     "run opdeck migrate, which takes a snapshot first",
	"ui.viewer":         "save a document with w, or with opdeck document download, and open the file",
}

const (
	viewRule = "let a timer of the host run opdeck operation list --view NAME -o json and judge its total"
	days     = "write days, one number for all"
)
