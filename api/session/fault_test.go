package session

import (
	"net/http"
	"testing"

	"opdeck/api/reach"
)

// TestFaultsOfALogin: the service's own words decide first, then the status; "password" only where the words or a 401
// say so.
func TestFaultsOfALogin(t *testing.T) {
	for _, one := range []struct {
		status     int
		body, kind string
		want       reach.Class
	}{
		{401, `{}`, "", reach.Password},
		{403, `{"error":"Invalid credentials"}`, "", reach.Password},
		{403, `{"error":"Forbidden"}`, "", reach.Refused},
		{403, `{"error":"Account is locked"}`, "", reach.Locked},
		{401, `{"error":"Account is locked"}`, "", reach.Locked},
		{423, ``, "", reach.Locked},
		{403, `{"error":"API login is disabled"}`, "", reach.Disabled},
		{401, `{"error":"Two-factor code required"}`, "", reach.TwoFactor},
		{404, `{"error":"Not Found"}`, "", reach.NoRoute},
		{405, ``, "", reach.NoRoute},
		{410, `{"error":"Use v3"}`, "", reach.Gone},
		{302, ``, "", reach.Moved},
		{407, ``, "", reach.ProxyAsks},
		{429, ``, "", reach.Throttled},
		{500, ``, "", reach.Failed},
		{502, `<html>`, "text/html", reach.Gateway},
		{503, ``, "", reach.Maintenance},
		{200, `<!doctype html>`, "text/html", reach.Unreadable},
		{200, `hello`, "text/plain", reach.Unreadable},
		{200, `{"ok":1}`, "", reach.Unreadable},
	} {
		resp := &http.Response{StatusCode: one.status, Header: http.Header{"Content-Type": {one.kind}, "Retry-After": {"7"}}}
		a := answer{status: one.status, outcome: Unknown}
		a.read(resp, []byte(one.body), nil, request{kind: ByLogin})
		got := a.fault
		if got.Class != one.want || got.After.Seconds() != 7 || got.Status != one.status {
			t.Errorf("%d %s: %+v, not %s", one.status, one.body, got, one.want)
		}
	}
}

// TestAWaitHidesNoCause: an attempt without a slot does not take the place of the failure before it, and a success
// ends both.
func TestAWaitHidesNoCause(t *testing.T) {
	failed := Event{Kind: EventLogin, Outcome: NotSent}
	wait := Event{Kind: EventLogin, Outcome: NoSlot}
	good := Event{Kind: EventLogin, Outcome: OK}
	if v := Diagnose([]Event{failed, wait, wait}, Row{}); v.Cause != Unreachable || v.Healed {
		t.Errorf("%+v", v)
	}
	if v := Diagnose([]Event{failed, good, wait}, Row{}); v.Cause != TooMany {
		t.Errorf("%+v", v)
	}
}
