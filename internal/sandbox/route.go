package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
)

// classPage is the class of the page behind a compliance link: not part of the service, and not counted.
const classPage limit.Class = "page"

// handler returns the body of a 200, which is written as JSON, or a whole answer.
type handler func(*call) (any, error)

// route is one endpoint.
type route struct {
	pattern string // of http.ServeMux: method and path
	name    string // for package faulty; "": it never meets the route
	handle  handler
	class   limit.Class // of the recommended rates
}

// table is what the service answers: the calls that package endpoint declares, and the page behind a compliance link.
func table() []route {
	routes := []route{
		of(endpoint.Of(api.ActSessionLogin), "login", with(login)),
		of(endpoint.Of(api.ActSessionRefresh), "refresh", refresh),
		of(endpoint.ListOperations.Route, "list", listOperations),
		of(endpoint.GetOperation.Route, "get", getOperation),
		of(endpoint.GetOperationTree.Route, "tree", operationTree),
		of(endpoint.AttachDocument.Route, "attach", with(attachDocument)),
		of(endpoint.RemoveDocument.Route, "remove", removeDocument),
		of(endpoint.ListPaymentLimits.Route, "limits", tariffs(paymentLimits, "customerId")),
		of(endpoint.ListCommissions.Route, "commissions", tariffs(commissions, "customerCuid")),
		of(endpoint.ListCustomers.Route, "customers", listCustomers),
		of(endpoint.UploadDocument.Route, "upload", uploadFile),
		of(endpoint.GetCustomer.Route, "customer-get", getRecord[customer](kindCustomer, "Customer", "cuid")),
		of(endpoint.GetApplication.Route, "application", getApplication),
		of(endpoint.SetApplication.Route, "set-application", asAction(with(setApplication))),
		of(endpoint.Finalize.Route, "finalize", asAction(finalize)),
		of(endpoint.ListFiles.Route, "files", listFiles),
		of(endpoint.DownloadDocument.Route, "download", downloadFile),
		of(endpoint.DeleteFile.Route, "delete-file", deleteFile),
		of(endpoint.Share.Route, "share", with(share)),
		of(endpoint.MakeLink.Route, "link", webLink),
		of(endpoint.ListAccounts.Route, "accounts", listAccounts),
		of(endpoint.GetAccount.Route, "account-get", getRecord[account](kindAccount, "Account", "account")),
		of(endpoint.ListCounterparties.Route, "counterparties", listCounterparties),
		of(endpoint.GetCounterparty.Route, "counterparty",
			getRecord[counterparty](kindCounterparty, "Counterparty", "counterparty")),
		of(endpoint.GetReport.Route, "report", reportOperations),
		of(endpoint.ListUsers.Route, "users", listUsers),
		of(endpoint.GetHooks.Route, "hook-get", getHook),
		of(endpoint.SetHooks.Route, "hook-set", with(setHook)),
		{pattern: "GET " + verifyPath + "{id}", handle: verify},
	}
	for i := range routes {
		_, path, _ := strings.Cut(routes[i].pattern, " ")
		routes[i].class = classOf(path)
	}
	return routes
}

// of is the route of a declared call.
func of(r *endpoint.Route, name string, handle handler) route {
	return route{pattern: r.Method + " " + r.Path, name: name, handle: handle}
}

// Route is an endpoint of the service.
type Route struct {
	Name    string // "list", "remove" …
	Pattern string // of http.ServeMux: method and path
	Class   limit.Class
}

// Routes returns the endpoints of the service.
func Routes() []Route {
	var list []Route
	for _, rt := range table() {
		if rt.class != classPage {
			list = append(list, Route{rt.name, rt.pattern, rt.class})
		}
	}
	return list
}

// open reports whether the route needs no access token.
func (rt route) open() bool {
	return rt.class == limit.Login || rt.class == limit.Refresh || rt.class == classPage
}

// classOf is the class of a path, also of one that no endpoint has.
func classOf(path string) limit.Class {
	if strings.HasPrefix(path, verifyPath) {
		return classPage
	}
	return endpoint.ClassOf(path)
}

// newMux serves the routes. Unknown requests are counted too.
func (s *Service) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range table() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route{class: classOf(r.URL.Path)}) })
	return mux
}

// call is one request in progress.
type call struct {
	*store
	ctx     context.Context // does not end with the caller: a received request is processed
	r       *http.Request
	query   url.Values
	bad     error // about the first parameter of the query that could not be read
	st      settings
	at      time.Time // by the service's clock
	warning string    // about the rate
	token   string    // fingerprint of the access token
}

// param is the value of a wildcard of the route's path.
func (c *call) param(name string) string { return c.r.PathValue(name) }

// answer is a complete answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// refusal is an error that ends a handler.
type refusal struct {
	status  int
	message string
	action  bool // in the error body of acts
	header  http.Header
}

func (r *refusal) Error() string { return http.StatusText(r.status) }

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

func notFound(what, id string) error { return refuse(http.StatusNotFound, what+" not found: "+id) }

// asAction gives refusals of handle the error body of acts.
func asAction(handle handler) handler {
	return func(c *call) (any, error) {
		body, err := handle(c)
		var r *refusal
		if errors.As(err, &r) {
			r.action = true
		}
		return body, err
	}
}

// with decodes the request body into a T for handle.
func with[T any](handle func(*call, T) (any, error)) handler {
	return func(c *call) (any, error) {
		var in T
		if err := c.bind(&in); err != nil {
			return nil, err
		}
		return handle(c, in)
	}
}

func jsonAnswer(status int, body any) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: encode(body)}
}

func failure(err error) answer {
	r := refuse(http.StatusInternalServerError, "internal error: "+err.Error())
	errors.As(err, &r)
	body := patch{"error": r.message}
	if r.action {
		body = action(false, r.message)
	}
	a := jsonAnswer(r.status, body)
	maps.Copy(a.header, r.header)
	return a
}

// serve handles a request: rate, authorization, handler.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, rt route) {
	c := &call{store: s.store, ctx: context.WithoutCancel(r.Context()), r: r, query: r.URL.Query(), at: s.clock()}
	body, err := any(nil), accept(c, rt)
	if err == nil {
		body, err = run(c, rt)
	}
	a, whole := body.(answer)
	switch {
	case err != nil:
		a = failure(err)
	case !whole:
		a = jsonAnswer(http.StatusOK, body)
	}
	send(w, c, a)
}

func run(c *call, rt route) (any, error) {
	if rt.handle == nil {
		return nil, refuse(http.StatusNotFound, "Not found")
	}
	if !rt.open() {
		if err := authorize(c); err != nil {
			return nil, err
		}
	}
	return rt.handle(c)
}

// send writes a to the wire.
func send(w http.ResponseWriter, c *call, a answer) {
	if c.warning != "" {
		w.Header().Set("X-RateLimit-Warning", c.warning)
	}
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Date", c.at.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	w.Write(a.body) // fails if the client has left
}

const maxJSONBody = 1 << 20

// bind decodes the JSON body of the request into v. Unknown fields are allowed.
func (c *call) bind(v any) error {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	body, err := io.ReadAll(io.LimitReader(c.r.Body, maxJSONBody+1))
	if err != nil {
		return refuse(http.StatusBadRequest, "The body could not be read")
	}
	if len(body) > maxJSONBody {
		return refuse(http.StatusRequestEntityTooLarge, "The body is too large")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return refuse(http.StatusBadRequest, "The body is not valid JSON of the expected shape")
	}
	return nil
}

const (
	defaultPageSize = 20
	maxPageSize     = 1000 // the service's documents name no limit; the client can be configured to request this many
)

// page is the window of a list: page from 0.
type page struct{ number, size int }

func (c *call) page() page {
	return page{c.whole("meta.page", 0, 0), c.whole("meta.pageSize", defaultPageSize, 1)}
}

// whole is a parameter that is a whole number from least; without it, it is otherwise.
func (c *call) whole(name string, otherwise, least int) int {
	n, err := otherwise, error(nil)
	if text := c.query.Get(name); text != "" {
		n, err = strconv.Atoi(text)
	}
	if err != nil || n < least || least > 0 && n > maxPageSize {
		c.bad = refuse(http.StatusBadRequest, fmt.Sprintf("%s must be a whole number from %d, a size at most %d", name, least,
			maxPageSize))
	}
	return n
}

func (p page) body(total int64, items any) patch {
	return patch{"items": items,
		"meta": patch{"pageSize": p.size, "page": p.number, "total": strconv.FormatInt(total, 10)}}
}

// paged answers with the requested page of a list.
func (c *call) paged(items []any) (any, error) {
	p := c.page()
	if c.bad != nil {
		return nil, c.bad
	}
	from := min(p.number*p.size, len(items))
	return p.body(int64(len(items)), items[from:min(from+p.size, len(items))]), nil
}

// is reports whether a parameter is not given, or is value.
func (c *call) is(name, value string) bool {
	return c.query.Get(name) == "" || c.query.Get(name) == value
}

// has reports whether a parameter is not given, or is a part of text in any case.
func (c *call) has(name, text string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(c.query.Get(name)))
}

// within reports whether at is not outside the bounds that two parameters give.
func (c *call) within(from, to string, at time.Time) bool {
	first, last := c.bound(from, time.Time{}), c.bound(to, at)
	return !at.Before(first) && !at.After(last)
}

// bound is a parameter that is an ISO 8601 time; without it, it is otherwise.
func (c *call) bound(name string, otherwise time.Time) time.Time {
	text := c.query.Get(name)
	if text == "" {
		return otherwise
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	if err != nil {
		c.bad = refuse(http.StatusBadRequest, name+" must be an ISO 8601 time")
	}
	return t
}

func count(ctx context.Context, q querier, query string, args ...any) (n int64, err error) {
	return n, q.QueryRowContext(ctx, query, args...).Scan(&n)
}

// action is the body of answers to acts.
func action(success bool, message string) patch {
	return patch{"success": success, "message": message}
}

// item wraps a single resource.
func item(v any) patch { return patch{"item": v} }

// patch is a JSON object, or a merge patch.
type patch map[string]any

// encode writes JSON without the HTML escapes of encoding/json.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Transport returns a RoundTripper that passes requests to the service in this process: no port, any host name.
func (s *Service) Transport() http.RoundTripper { return inProcess(s.Handler()) }

// inProcess passes each request to a handler over a connection of its own in memory, also those for https addresses.
func inProcess(handler http.Handler) http.RoundTripper {
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		server := &http.Server{Handler: handler}
		_ = server.Serve(&single{conn: memoryConn{far}}) // it ends at once; the connection is served until it is closed
		return near, nil
	}
	return &http.Transport{DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true, DisableCompression: true}
}

// memoryConn is a connection in memory that shows a loopback address.
type memoryConn struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (memoryConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// single is a listener that accepts one connection.
type single struct{ conn net.Conn }

// Accept implements net.Listener.
func (l *single) Accept() (conn net.Conn, err error) {
	if conn, l.conn = l.conn, nil; conn == nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (l *single) Close() error { return nil }

// Addr implements net.Listener.
func (l *single) Addr() net.Addr { return memoryConn{}.RemoteAddr() }
