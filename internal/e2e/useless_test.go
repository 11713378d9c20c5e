//go:build linux

package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

// TestAnswersOfNoUseThatAreNoOutage: one route that refuses and ids that are not known are no outage; on everything they
// are one, which the failing command says, also the first one of all; and one useful answer ends it.
func TestAnswersOfNoUseThatAreNoOutage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.alone = true
	s.configure()
	var fails atomic.Pointer[string] // paths with this in them are refused
	var code atomic.Int32
	s.up.answers(func(w http.ResponseWriter, r *http.Request) {
		if part := fails.Load(); part != nil && strings.Contains(r.URL.Path, *part) && !isLogin(r) {
			status(int(code.Load()), `{"error":"no such thing"}`, "Content-Type", "application/json")(w, r)
			return
		}
		good(w, r)
	})
	refuse := func(status int32, part string) { code.Store(status); fails.Store(&part) }
	checked := func(when, want string) {
		t.Helper()
		if got := s.run("check"); !strings.HasPrefix(got.out, want) {
			t.Errorf("%s: %s%s", when, got.out, got.err)
		}
	}
	const ok, useless = "OPDECK OK - t: No fault known.", "OPDECK CRITICAL - t: No answer of 127.0.0.1:"
	get := func() ran { return s.run("operation", "get", uuid.NewString()) }

	s.run(theCall...)
	s.run("customer", "list")
	refuse(403, "/v2/customer")
	for range 3 {
		if got := s.run("customer", "list"); got.code != 5 {
			t.Errorf("a refused list ends with %d: %s", got.code, got.err)
		}
	}
	checked("one route", ok)

	fails.Store(nil)
	s.run(theCall...)
	refuse(404, "/v2/billing/operation/")
	for range 3 {
		if got := get(); got.code != 4 || !strings.Contains(got.err, "Check the id") {
			t.Errorf("an unknown id ends with %d: %s", got.code, got.err)
		}
	}
	checked("unknown ids", ok)

	refuse(404, "/v2")
	for _, got := range []ran{s.run(theCall...), get(), s.run("customer", "list")} {
		if got.code != 1 || !strings.Contains(got.err, " can be used: 404 Not Found.") ||
			strings.Contains(got.err, "Check the id") {
			t.Errorf("on everything: %d %s", got.code, got.err)
		}
	}
	checked("everything", useless)

	fails.Store(nil)
	if got := s.run("account", "list"); got.code != 0 {
		t.Error(got.err)
	}
	checked("after one useful answer", ok)

	s.env = append(s.env, "OPDECK_STATE="+s.file("another"))
	refuse(404, "/v2")
	if got := s.run(theCall...); got.code != 1 || !strings.Contains(got.err, "can be used: 404 Not Found.") {
		t.Errorf("the first command of all: %d %s", got.code, got.err)
	}
	checked("after the first command of all", useless)
}
