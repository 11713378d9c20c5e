package lendproxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/internal/domain/lending"
)

// arrival is a request that reached the service.
type arrival struct {
	method, path, body string
	query              url.Values
	header             http.Header
}

// FuzzLentRequest sends bytes to the proxy as a borrower of each role: what arrives at the service is a declared call
// of that role with declared query names, has passed the guards of writes, has our token in Authorization only, and
// arrives once. In raw, @key, @opid, @guid, @locked and @cuid are those of the rig.
func FuzzLentRequest(f *testing.F) {
	r := newRig(f, "")
	op, doc := r.operation(false)
	_, locked := r.operation(true)
	var mu sync.Mutex
	var came []arrival // guarded by mu
	arrived := func() []arrival {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(came)
	}
	r.set(func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			f.Error(err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		came = append(came, arrival{req.Method, req.URL.EscapedPath(), string(body), req.URL.Query(), req.Header.Clone()})
		mu.Unlock()
		next.ServeHTTP(w, req)
	})
	for role := range api.Roles {
		for _, seed := range requestSeeds() {
			f.Add(uint8(role), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, raw []byte) {
		role := api.Roles[int(n)%len(api.Roles)]
		text := strings.NewReplacer("@key", keyOf(string(role)), "@opid", string(op.OPID), "@guid", string(doc.GUID), "@locked",
			string(locked.GUID), "@cuid", string(op.Customer.CUID)).Replace(string(raw))
		mu.Lock()
		came = nil
		mu.Unlock()
		answer := r.exchange(t, text, func() bool { return len(arrived()) > 0 })
		if strings.Contains(answer, marker) && !strings.Contains(text, marker) || strings.Contains(answer, "HTTP/1.1 401") {
			t.Errorf("%s: %q was answered %q", role, text, answer)
		}
		writes := 0
		for _, a := range arrived() {
			if why := a.breaks(role, string(locked.GUID)); why != "" {
				t.Errorf("%s: %q: %s %s %v %q arrived: %s", role, text, a.method, a.path, a.query, a.body, why)
			}
			if route, _, _ := endpoint.Match(a.method, a.path); route != nil && route.Writes() {
				writes++
			}
		}
		if most := strings.Count(text, "HTTP/1."); writes > most {
			t.Errorf("%s: %d writes arrived of %d requests: %q", role, writes, most, text)
		}
	})
}

// exchange sends text and returns all that the proxy answers. An end of what is sent would cancel the call, so it comes
// after as many answers as there are requests, or when none comes soon and nothing is under way.
func (r *rig) exchange(t *testing.T, text string, underWay func() bool) string {
	conn, err := net.Dial("tcp", r.lender.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, text)
	var answer bytes.Buffer
	from := bufio.NewReader(io.TeeReader(conn, &answer))
	for range strings.Count(text, "HTTP/1.") {
		_ = conn.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
		if _, err := from.Peek(1); err != nil && !underWay() {
			break
		}
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		method, _, _ := strings.Cut(text, " ") // of the first request: HEAD is answered without a body
		resp, err := http.ReadResponse(from, &http.Request{Method: method})
		if err != nil {
			break
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, from)
	return answer.String()
}

// breaks says which rule of lending an arrival breaks; "": none.
func (a arrival) breaks(role api.Role, locked string) string {
	route, ids, _ := endpoint.Match(a.method, a.path)
	switch {
	case route == nil:
		return "no such call is declared"
	case !role.May(route.Need):
		return "the role may not make it"
	case slices.ContainsFunc(route.Masked.Only, func(p api.Permission) bool { return !role.May(p) }):
		return "the role may not take it out"
	case route.Writes() && route.Lent.Write == nil, !route.Writes() && !route.Lent.Reads && !role.May(api.MayHooks):
		return "it is not lent"
	case route.Kind == api.ActRemoveDocument && slices.Contains(ids, locked):
		return "the document is locked"
	}
	for name := range a.query {
		i := slices.IndexFunc(route.Query, func(q endpoint.Query) bool { return q.Name == name })
		if i < 0 || !role.May(route.Query[i].Need) && route.Query[i].Need != "" {
			return "the query " + name
		}
	}
	if route.Kind == api.ActSetHooks {
		var in struct {
			Parameters struct{ HookURL, JWTSecret string }
		}
		if err := json.Unmarshal([]byte(a.body), &in); err != nil || endpoint.CheckHookURL(in.Parameters.HookURL) != nil ||
			endpoint.CheckHookSecret(secret.New(in.Parameters.JWTSecret)) != nil {
			return "the guard of the webhook settings"
		}
	}
	if auth := a.header.Values("Authorization"); len(auth) != 1 || !strings.Contains(auth[0], marker) {
		return "it is not authorized by our token alone"
	}
	a.header.Del("Authorization")
	if all := a.path + a.query.Encode() + a.body; strings.Contains(all, marker) || a.header.Get(lending.HeaderKey) != "" {
		return "our token or the borrower's key"
	}
	for name, values := range a.header {
		if strings.Contains(strings.Join(values, " "), marker) {
			return "our token in " + name
		}
	}
	return ""
}

// requestSeeds are requests as scripts send them, one for each declared call, and ones that can be read in two ways.
func requestSeeds() []string {
	head := "Host: 127.0.0.1\r\n" + lending.HeaderKey + ": @key\r\n"
	bodies := map[string]string{
		"document.attach": `{"documentId":"@guid"}`, "compliance.share": `{"token":"token-0123456789"}`,
		"customer.set-application": `{"individual":{"application":{"firstName":"A","lastName":"B"}}}`,
		"hook.set": `{"parameters":{"enabled":true,"hookUrl":"http://foreign.example/x","jwtSecret":"x",` +
			`"hookCustomer":true,"hookOperation":true,"hookDepositAccount":false,"hookCounterparty":false}}`,
	}
	ids := strings.NewReplacer("{opid}", "@opid", "{guid}", "@guid", "{cuid}", "@cuid", "{file}", "@guid", "{account}", "x1",
		"{counterparty}", "x1", "{id}", "x1")
	request := func(method, target, more, body string) string {
		if body != "" {
			more += "Content-Type: application/json\r\nContent-Length: " + lengthOf(body) + "\r\n"
		}
		return method + " " + target + " HTTP/1.1\r\n" + head + more + "\r\n" + body
	}
	var out []string
	for _, route := range endpoint.All() {
		if route.Path != "" {
			out = append(out, request(route.Method, ids.Replace(route.Path), "", bodies[string(route.Kind)]))
		}
	}
	read := request("GET", "/v2/customer?meta.pageSize=1", "", "")
	return append(out, read+read,
		request("DELETE", "/v2/billing/operation/@opid/document/@locked", "", ""),
		request("GET", "/v2/counterparty/account?number=DE1", "", ""),
		request("GET", "/v2/billing/operation?meta.pageSize=1&meta.pageSize=2&account=4", "", ""),
		request("GET", "/v2/billing/operation/%2e%2e/../auth/login", "", ""),
		request("GET", "//evil.example/v2/customer", "", ""),
		request("GET", "http://evil.example/v2/customer", "", ""),
		request("HEAD", "/v2/customer", "X-HTTP-Method-Override: DELETE\r\n", ""),
		request("POST", "/v2/billing/operation/@opid/document", "Transfer-Encoding: chunked\r\n", `{"documentId":"@guid"}`),
		request("POST", "/v2/billing/operation/@opid/document", "Content-Length: 3\r\n", `{"documentId":"@guid"}`)+read,
		strings.Replace(read, "HTTP/1.1", "HTTP/1.0", 1),
		strings.Replace(read, lending.HeaderKey+": @key", "Authorization: Bearer @key", 1))
}

// lengthOf is the length of a body whose names are replaced by ids of 36 characters.
func lengthOf(body string) string {
	n := len(body)
	for _, name := range []string{"@guid", "@opid", "@cuid"} {
		n += strings.Count(body, name) * (36 - len(name))
	}
	return strconv.Itoa(n)
}
