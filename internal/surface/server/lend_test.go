package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/apitest"
)

// The server lends its session where the config says so, and reports it to people.
func TestLend(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "opdeck-lend-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := dir + "/s"
	p := begin(t, "[lend]\nsocket = \""+socket+"\"\nlisten = \"127.0.0.1:0\"\n[lend.borrowers.nightly]\nkey_env = "+
		"\"HOOK_SECRET\"\n")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}}}
	resp, err := client.Get("http://opdeck/v2/customer?meta.pageSize=1")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"items"`) {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
	if out := p.out.String(); !strings.Contains(out, "lend      "+socket) || !strings.Contains(out, "for 1 with a key") {
		t.Errorf("the server says %q", out)
	}
	apitest.Soon(t, "the borrower is reported", func() bool {
		out, _, code := p.run(api.Viewer, "", "session status -o json")
		return code == 0 && strings.Contains(out, `"calls": 1`)
	})
	if code := p.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errs)
	}
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket stays")
	}
}
