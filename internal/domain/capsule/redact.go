package capsule

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"opdeck/api/pattern"
	"opdeck/internal/domain/verdict"
)

// Names replaces names and ids by keyed digests: the same one is the same digest within a capsule. The key is random
// and kept nowhere, so a digest leads back to nothing and cannot be compared with another capsule's.
type Names struct{ key []byte }

// NewNames returns Names with a new key.
func NewNames() Names {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return Names{key}
}

// Of is the digest of a value: "host:3f2a9c01"; "" for none.
func (n Names) Of(kind, value string) string {
	if value == "" {
		return ""
	}
	h := hmac.New(sha256.New, n.key)
	h.Write([]byte(kind + "\x00" + value))
	return kind + ":" + hex.EncodeToString(h.Sum(nil)[:4])
}

var (
	wordShape  = pattern.New(`^[a-z][a-z_]{0,40}$`)
	routeShape = pattern.New(`^[A-Z]{3,7}( /[A-Za-z_/{}.-]*(/v[0-9])?[A-Za-z_/{}.-]*)?$`)
)

// Word is one of our words, such as a class or a state; anything else becomes "other".
func Word[T ~string](w T) T {
	if w == "" || wordShape.MatchString(string(w)) {
		return w
	}
	return "other"
}

// Route is the method and path template of a call; anything else becomes "other".
func Route(s string) string {
	if s == "" || routeShape.MatchString(s) {
		return s
	}
	return "other"
}

// Facts returns facts without any text from outside: the service's words, names of people, hosts and programs, paths
// of this host.
func Facts(f verdict.Facts, n Names) verdict.Facts {
	f.Service, f.Account = host(f.Service), n.Of("account", f.Account)
	f.Calls = each(f.Calls, n, func(c *verdict.Call) {
		c.Class, c.Route = Word(c.Class), Route(c.Route)
		fault(&c.Fault, n)
	})
	f.Attempts = each(f.Attempts, n, func(a *verdict.Attempt) {
		a.Kind, a.By = Word(a.Kind), n.Of("host", a.By)
		fault(&a.Fault, n)
	})
	one(&f.Password, n, func(p *verdict.Password) {
		p.Source = "the configured source"
		if p.Fault != "" {
			p.Fault = "the reason is left out"
		}
	})
	one(&f.Session, n, func(s *verdict.Session) {
		s.State, s.Holding, s.Holder = Word(s.State), Word(s.Holding), n.Of("process", s.Holder)
	})
	f.Budgets = each(f.Budgets, n, func(b *verdict.Budget) {
		users := b.Users
		b.Class, b.Users = Word(b.Class), nil
		for _, u := range users {
			b.Users = append(b.Users, n.Of("user", u))
		}
	})
	one(&f.Store, n, func(s *verdict.Store) {
		s.State, s.Where, s.Says, s.Holder = Word(s.State), n.Of("store", s.Where), "", n.Of("process", s.Holder)
		if s.Engine != "SQLite" && s.Engine != "PostgreSQL" {
			s.Engine = "database"
		}
	})
	one(&f.Index, n, func(i *verdict.Index) {
		if i.Error != "" {
			i.Error = "the reason is left out"
		}
	})
	one(&f.Feed, n, func(d *verdict.Feed) {
		if d.Why != "" {
			d.Why = "the reason is in the record of rejected deliveries"
		}
	})
	one(&f.Audit, n, func(a *verdict.Audit) { a.Broken = left(a.Broken) })
	one(&f.Writes, n, func(*verdict.Writes) {})
	one(&f.Certificate, n, func(*verdict.Certificate) {})
	one(&f.Clock, n, func(c *verdict.Clock) { c.Host = n.Of("host", c.Host) })
	one(&f.Config, n, func(c *verdict.Config) { c.Mistakes, c.Ignored = left(c.Mistakes), left(c.Ignored) })
	f.Ports = each(f.Ports, n, func(p *verdict.Port) {
		p.Name, p.Addr = Word(p.Name), n.Of("address", p.Addr)
		if p.Fault != "" {
			p.Fault = "it cannot be opened"
		}
	})
	return f
}

func one[T any](f *verdict.Fact[T], n Names, change func(*T)) {
	if !plainWords(f.From) { // it names a process
		f.From = n.Of("process", f.From)
	}
	change(&f.Value)
}

func each[T any](list []verdict.Fact[T], n Names, change func(*T)) []verdict.Fact[T] {
	out := make([]verdict.Fact[T], len(list))
	for i, f := range list {
		one(&f, n, change)
		out[i] = f
	}
	return out
}

// left keeps how many texts there were.
func left(list []string) []string {
	out := make([]string, len(list))
	for i := range out {
		out[i] = "the text is left out"
	}
	return out
}

var hostShape = pattern.New(`^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$`)

// host is the name of the service's host, which the receiver of a capsule has to know.
func host(s string) string {
	if hostShape.MatchString(strings.ToLower(s)) {
		return s
	}
	return "the service"
}
