package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"reflect"
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
		of(endpoint.ListPaymentLimits.Route, "limits", listLimits),
		of(endpoint.ListCommissions.Route, "commissions", listCommissions),
		of(endpoint.ListCustomers.Route, "customers", listCustomers),
		of(endpoint.UploadDocument.Route, "upload", uploadFile),
		of(endpoint.GetCustomer.Route, "customer-get", getCustomer),
		of(endpoint.GetApplication.Route, "application", getApplication),
		of(endpoint.SetApplication.Route, "set-application", asAction(with(setApplication))),
		of(endpoint.Finalize.Route, "finalize", asAction(finalize)),
		of(endpoint.ListFiles.Route, "files", listFiles),
		of(endpoint.DownloadDocument.Route, "download", downloadFile),
		of(endpoint.DeleteFile.Route, "delete-file", deleteFile),
		of(endpoint.Share.Route, "share", with(share)),
		of(endpoint.MakeLink.Route, "link", webLink),
		of(endpoint.ListAccounts.Route, "accounts", listAccounts),
		of(endpoint.GetAccount.Route, "account-get", getAccount),
		of(endpoint.ListCounterparties.Route, "counterparties", listCounterparties),
		of(endpoint.GetCounterparty.Route, "counterparty", getCounterparty),
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
	body := object{"error", r.message}
	if r.action {
		body = action(false, r.message)
	}
	a := jsonAnswer(r.status, body)
	maps.Copy(a.header, r.header)
	return a
}

// serve handles a request: rate, authorization, handler.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, rt route) {
	c := &call{store: s.store, ctx: context.WithoutCancel(r.Context()), r: r, at: s.clock()}
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

func (c *call) page() (page, error) {
	p := page{size: defaultPageSize}
	for name, at := range map[string]*int{"meta.page": &p.number, "meta.pageSize": &p.size} {
		text := c.r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, refuse(http.StatusBadRequest, name+" must be a whole number from 0")
		}
		*at = n
	}
	if p.size < 1 || p.size > maxPageSize {
		return p, refuse(http.StatusBadRequest, "meta.pageSize must be between 1 and "+strconv.Itoa(maxPageSize))
	}
	return p, nil
}

func (p page) body(total int64, items any) object {
	return object{"meta", object{"pageSize", p.size, "page", p.number, "total", strconv.FormatInt(total, 10)},
		"items", items}
}

// listPage answers with the requested page of the rows of from that match w, in
// this order.
func listPage[T any](c *call, from string, w *where, order string,
	fetch func(ctx context.Context, q querier, tail string, args ...any) ([]T, error), render func(*T) any) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	total, err := count(c.ctx, c.db, `SELECT count(*)`+from+w.String(), w.args...)
	if err != nil {
		return nil, err
	}
	rows, err := fetch(c.ctx, c.db, w.String()+` ORDER BY `+order+` LIMIT ? OFFSET ?`,
		append(w.args, p.size, p.offset())...)
	items := make([]any, len(rows))
	for i := range rows {
		items[i] = render(&rows[i])
	}
	return p.body(total, items), err
}

func (p page) offset() int { return p.number * p.size }

// where collects conditions of a query.
type where struct {
	terms []string
	args  []any
}

func (w *where) add(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

func (w *where) String() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

// contains adds a case-insensitive partial match (ASCII case only, as SQLite has it).
func (w *where) contains(column, part string) {
	if part == "" {
		return
	}
	escaped := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part)
	w.add(column+` LIKE ? ESCAPE '\'`, "%"+escaped+"%")
}

// equal adds column = value unless value is empty.
func (w *where) equal(column, value string) {
	if value != "" {
		w.add(column+" = ?", value)
	}
}

// code adds column = the code of the name; an unknown name matches nothing.
func (w *where) code(column string, names []string, name string) {
	if name != "" {
		w.add(column+" = ?", codeOf(names, name))
	}
}

// between adds the bounds of a time column from two ISO 8601 parameters.
func (w *where) between(c *call, column, from, to string) error {
	for _, b := range []struct{ name, op string }{{from, ">="}, {to, "<="}} {
		text := c.r.URL.Query().Get(b.name)
		if text == "" {
			continue
		}
		at, err := parseTime(text)
		if err != nil {
			return refuse(http.StatusBadRequest, b.name+" must be an ISO 8601 time")
		}
		w.add(column+" "+b.op+" ?", at.UnixNano())
	}
	return nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text)
	}
	return t, err
}

func count(ctx context.Context, q querier, query string, args ...any) (n int64, err error) {
	return n, q.QueryRowContext(ctx, query, args...).Scan(&n)
}

// object is a JSON object with ordered fields: name, value, name, value … A name that ends in ",omitempty" omits its
// field if it is zero.
type object []any

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := 0; i < len(o); i += 2 {
		name, optional := strings.CutSuffix(o[i].(string), ",omitempty")
		if optional && reflect.ValueOf(o[i+1]).IsZero() {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		b = append(b, encode(o[i+1])...)
	}
	return append(b, '}'), nil
}

// action is the body of answers to acts.
func action(success bool, message string) object {
	return object{"success", success, "message", message}
}

// item wraps a single resource.
func item(v any) object { return object{"item", v} }

// patch is an unordered JSON object, or a merge patch.
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

// decode decodes JSON; numbers keep their digits.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// mergePatch applies p to the object in raw (RFC 7396, but null stays null, so
// that a field can be shown as null).
func mergePatch(raw, p []byte) json.RawMessage {
	var base, over map[string]any
	if decode(raw, &base) != nil || decode(p, &over) != nil {
		return raw
	}
	merge(base, over)
	return encode(base)
}

func merge(base, over map[string]any) {
	for k, v := range over {
		inner, ok := v.(map[string]any)
		if under, has := base[k].(map[string]any); ok && has {
			merge(under, inner)
			continue
		}
		base[k] = v
	}
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
