package session

import (
	"net/http"
	"testing"

	"opdeck/api/reach"
)

// TestFaultsOfALogin: the status decides, whatever the words are, which are quoted; only a two-factor code is known by
// its name.
func TestFaultsOfALogin(t *testing.T) {
	for _, one := range []struct {
		status     int
		body, kind string
		want       reach.Class
	}{
		{401, `{}`, "", reach.Password},
		{403, `{"error":"Invalid credentials"}`, "", reach.Refused},
		{403, `{"error":"Forbidden"}`, "", reach.Refused},
		{403, `{"error":"Account is locked"}`, "", reach.Refused},
		{401, `{"error":"Account is locked"}`, "", reach.Password},
		{423, ``, "", reach.Locked},
		{403, `{"error":"API login is disabled"}`, "", reach.Refused},
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
