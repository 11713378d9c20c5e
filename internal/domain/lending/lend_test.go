package lending

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/act"
)

// TestEveryWriteIsLent: each write that the gate knows has its path, and each route its
// act.
func TestEveryWriteIsLent(t *testing.T) {
	for _, r := range endpoint.All() {
		row := act.Of(r.Kind)
		switch {
		case r.Writes() && r.Lent.Write == nil:
			t.Errorf("%s is a write that scripts cannot make: its declaration lacks lend or answer", r.Kind)
		case r.IsLent() && row != nil && r.Writes() != row.Barred(), r.IsLent() && r.Need == "":
			t.Errorf("%s %s is lent as %s, %q", r.Method, r.Path, r.Kind, r.Need)
		}
		if !r.IsLent() {
			continue
		}
		path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.Path, "x1")
		if call, bad := Match(r.Method, path); bad != nil || call.Route != r {
			t.Errorf("%s %s is hidden by another path: %v %v", r.Method, r.Path, call.Route, bad)
		}
	}
}

// TestEveryPathOfTheContract passes, or is refused with what to do instead.
func TestEveryPathOfTheContract(t *testing.T) {
	text, err := os.ReadFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path, n := "", 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if m := regexp.MustCompile(`^  (/v2/\S+):`).FindStringSubmatch(line); m != nil {
			path = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(m[1], "x1")
		}
		m := regexp.MustCompile(`^    (get|post|patch|delete|put):`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n++
		call, bad := Match(strings.ToUpper(m[1]), path)
		if bad != nil && (bad.Err.Hint == "" || bad.Status == http.StatusBadRequest) {
			t.Errorf("%s %s: %d %+v", m[1], path, bad.Status, bad.Err)
		}
		if bad == nil && len(call.IDs) != strings.Count(path, "/x1") {
			t.Errorf("%s %s has the ids %q", m[1], path, call.IDs)
		}
		t.Logf("%-6s %-60s %v", m[1], path, bad == nil)
	}
	if n < 20 {
		t.Errorf("%d calls in the contract", n)
	}
}

func TestKeys(t *testing.T) {
	keys := NewKeys(api.Viewer)
	a, b := NewKey(), NewKey()
	if len(a.Reveal()) < LeastKey || a.Reveal() == b.Reveal() {
		t.Error("keys are short, or alike")
	}
	if err := errors.Join(keys.Add(a, Borrower{Name: "a"}), keys.Add(b, Borrower{Name: "b"})); err != nil {
		t.Fatal(err)
	}
	if got, ok := keys.Find(b.Reveal()); !ok || got.Name != "b" {
		t.Errorf("%v %v", got, ok)
	}
	for _, wrong := range []string{"", a.Reveal() + "x", a.Reveal()[1:], strings.ToLower(a.Reveal())} {
		if got, ok := keys.Find(wrong); ok {
			t.Errorf("%q is %s", wrong, got.Name)
		}
	}
}

// TestTally: a minute is a minute, and a pause makes the next call a beginning.
func TestTally(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	tally := NewTally(func() time.Time { return now })
	count := func(refused bool, waited time.Duration) bool {
		return tally.Count(Done{Borrower: Borrower{Name: "n"}, Class: "billing", Refused: refused, Waited: waited}, 10*time.Minute)
	}
	if !count(false, 0) || count(true, 2*time.Second) {
		t.Error("the first call begins, the second does not")
	}
	now = now.Add(40 * time.Second)
	count(false, time.Millisecond)
	if b := tally.Borrowers()[0]; b.LastMinute != 3 || b.Calls != 3 || b.Waits != 1 || b.Waited != 2 || b.Refused != 1 {
		t.Errorf("%+v", b)
	}
	now = now.Add(30 * time.Second)
	if b := tally.Borrowers()[0]; b.LastMinute != 1 {
		t.Errorf("%+v", b)
	}
	now = now.Add(20 * time.Minute)
	if b := tally.Borrowers()[0]; b.LastMinute != 0 || !count(false, 0) {
		t.Errorf("after a pause %+v", b)
	}
}

func TestTogether(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	of := func(name string, age time.Duration) Post {
		return Post{session.Borrower{Name: name, LastMinute: 5, Calls: 10, Last: at.Add(-age), Running: true}, age}
	}
	all := Together([]Post{of("b", 0), of("a", time.Second), of("a", time.Hour)})
	if len(all) != 2 || all[0].Name != "a" || all[0].Calls != 20 || all[0].LastMinute != 5 || !all[0].Running || all[1].Calls != 10 {
		t.Errorf("%+v", all)
	}
	if gone := Together([]Post{of("a", Silent+time.Second)}); gone[0].Running || gone[0].LastMinute != 0 {
		t.Errorf("%+v", gone)
	}
}

// TestNoBorrowerExceedsTheContext: each role of a borrower in a context of each role.
func TestNoBorrowerExceedsTheContext(t *testing.T) {
	for _, most := range append(slices.Clone(api.Roles), "") {
		for _, role := range api.Roles {
			keys := NewKeys(most)
			err := keys.Add(NewKey(), Borrower{Name: "n", Role: role})
			exceeds := slices.ContainsFunc(api.Permissions, func(p api.Permission) bool { return role.May(p) && !most.May(p) })
			if (err != nil) != exceeds || (keys.Len() == 0) != exceeds {
				t.Errorf("%s in a context of %q: %v, %d keys", role, most, err, keys.Len())
			}
			if err != nil && !strings.Contains(api.AsError(err).Hint, "[lend.borrowers.n]") {
				t.Errorf("no advice in %+v", err)
			}
		}
	}
}

// TestWeakKeys: what can be guessed is no key, and the error says how to make one.
func TestWeakKeys(t *testing.T) {
	for _, weak := range []string{"", strings.Repeat("a", 24), strings.Repeat("a", 64), strings.Repeat("ab", 20),
		"0123456789abcdef0123456789abcdef", "abcdefghijklmnopqrstuvwxyz", strings.Repeat("secret1", 6),
		NewKey().Reveal()[1:]} {
		if err := CheckKey(secret.New(weak)); err == nil || !strings.Contains(err.Error(), "openssl rand -hex 32") ||
			weak != "" && strings.Contains(err.Error(), weak) {
			t.Errorf("%q: %v", weak, err)
		}
	}
	for range 100 {
		b := make([]byte, 32)
		if _, err := rand.Read(b); err != nil {
			t.Fatal(err)
		}
		for _, good := range []string{NewKey().Reveal(), hex.EncodeToString(b), base64.StdEncoding.EncodeToString(b)} {
			if err := CheckKey(secret.New(good)); err != nil {
				t.Errorf("%q: %v", good, err)
			}
		}
	}
}
