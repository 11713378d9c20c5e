//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
)

// other is a second implementation of the service's calls that the tests of
// outcomes need. It shares no code with internal/sandbox, keeps everything in
// memory, and answers one write at a time as a test reports it to.
type other struct {
	t      testing.TB
	base   string
	server *httptest.Server

	mu        sync.Mutex
	ops       map[string]*otherOperation  // guarded by mu, like all below
	customers map[string]*otherCustomer   // by cuid
	hook      map[string]any              // webhook settings
	sent      map[string]int              // writes that came in, by kind and object
	done      map[string]int              // writes that were done
	next      map[api.ActKind]otherAnswer // by kind of write: how they are answered
	late      sync.WaitGroup              // writes that are done after their answer
	came      func(api.ActKind)           // learns of each write as it comes in; nil: no one does
}

type otherOperation struct {
	opid, cuid string
	documents  []otherFile
}

type otherCustomer struct {
	cuid        string
	files       []otherFile
	application map[string]any
	status      string // of the application
	shared      bool
}

type otherFile struct {
	id, name string
	size     int
	at       time.Time
	content  []byte
}

// otherAnswer is how a write is answered. The zero value: properly.
type otherAnswer struct {
	undone bool          // the act is not done
	hold   chan struct{} // it is done after the answer, once this is closed
	status int           // 0: the service's own answer
	kind   string        // Content-Type
	body   string        // OPID, CUID, DOC are replaced by ids
	way    string        // "cut", "drop", "hang": what happens to the answer on its way
}

// counts says how often a write came in and how often it was done.
func (o *other) counts(kind api.ActKind, key string) (sent, done int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent[string(kind)+" "+key], o.done[string(kind)+" "+key]
}

// answers says how writes of a kind are answered from now on.
func (o *other) answers(kind api.ActKind, how otherAnswer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next[kind] = how
}

// holds is what holds a write until arrive is called, or the test ends: a test that fails meanwhile does not wait for it.
func (o *other) holds() (hold chan struct{}, arrive func()) {
	o.t.Helper()
	hold = make(chan struct{})
	arrive = sync.OnceFunc(func() { close(hold) })
	o.t.Cleanup(arrive)
	return hold, arrive
}

func newOther(t testing.TB) *other {
	o := &other{t: t, ops: map[string]*otherOperation{}, customers: map[string]*otherCustomer{}, sent: map[string]int{}, done: map[string]int{}, next: map[api.ActKind]otherAnswer{},
		hook: map[string]any{"enabled": true, "hookUrl": "https://old.example/", "jwtSecret": strings.Repeat("s", 32), "hookCustomer": true, "hookOperation": true, "hookDepositAccount": true, "hookCounterparty": true}}
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(*http.Request) (int, any){
		"POST /v2/auth/login":                                     o.pair,
		"GET /v2/auth/refresh/{token}":                            o.pair,
		"GET /v2/billing/operation/{id}":                          o.operation,
		"GET /v2/billing/operation":                               o.operations,
		"GET /v2/customer/{cuid}":                                 o.customer,
		"GET /v2/customer/{cuid}/application":                     o.application,
		"GET /v2/customer/{cuid}/file":                            o.files,
		"GET /v2/customer/{cuid}/file/{id}":                       o.download,
		"GET /v2/hook/get":                                        func(*http.Request) (int, any) { return 200, o.hook },
		"DELETE /v2/billing/operation/{id}/document/{documentId}": o.write(api.ActRemoveDocument, o.remove),
		"POST /v2/billing/operation/{id}/document":                o.write(api.ActAttachDocument, o.attach),
		"POST /v2/customer/file":                                  o.write(api.ActUploadDocument, o.upload),
		"POST /v2/customer/{cuid}/application":                    o.write(api.ActSetApplication, o.set),
		"PATCH /v2/customer/{cuid}/application":                   o.write(api.ActFinalize, o.finalize),
		"POST /v2/compliance/{cuid}/share":                        o.write(api.ActShare, o.share),
		"GET /v2/compliance/{cuid}/web_sdk_link":                  o.write(api.ActLink, o.link),
		"POST /v2/hook/set":                                       o.write(api.ActSetHooks, o.hookSet),
		"DELETE /v2/customer/{cuid}/file/{id}":                    o.write(api.ActDeleteFile, o.deleteFile),
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			o.mu.Lock()
			status, body := h(r)
			raw, _ := json.Marshal(body)
			o.mu.Unlock()
			if way, is := body.(onTheWay); is {
				way(w)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write(raw)
		})
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		o.late.Wait()
	})
	o.base, o.server = server.URL, server
	return o
}

// onTheWay writes an answer that is no plain JSON; it runs without the lock.
type onTheWay func(http.ResponseWriter)

// MarshalJSON is never asked for its content.
func (onTheWay) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func (o *other) pair(*http.Request) (int, any) {
	return 200, map[string]any{"accessToken": uuid.NewString(), "refreshToken": uuid.NewString(), "accessTtl": 300, "refreshTtl": 900}
}

// newCustomer and newOperation make the object of one test.
func (o *other) newCustomer() *otherCustomer {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &otherCustomer{cuid: "D" + uuid.NewString()[:13], status: "DRAFT", application: map[string]any{"individual": map[string]any{"application": map[string]any{"firstName": "Ada"}}}}
	c.files = []otherFile{{uuid.NewString(), "free.pdf", 100, time.Now(), nil}}
	o.customers[c.cuid] = c
	return c
}

func (o *other) newOperation() *otherOperation {
	c := o.newCustomer()
	o.mu.Lock()
	defer o.mu.Unlock()
	op := &otherOperation{opid: uuid.NewString(), cuid: c.cuid, documents: []otherFile{{uuid.NewString(), "old.pdf", 10, time.Now(), nil}, {uuid.NewString(), "second.pdf", 11, time.Now(), nil}}}
	o.ops[op.opid] = op
	c.files = append(c.files, op.documents...)
	return op
}

// documentOf is the id of the operation's first document.
func (o *other) documentOf(op *otherOperation) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return op.documents[0].id
}

// fileOf is the id of a file of the operation's customer that is not attached.
func (o *other) fileOf(op *otherOperation) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.customers[op.cuid].files[0].id
}

func (op *otherOperation) json() map[string]any {
	docs := []any{}
	for _, d := range op.documents {
		docs = append(docs, map[string]any{"guid": d.id, "fileName": d.name, "size": d.size, "mime": "application/pdf", "docType": "OPERATION_DOCUMENT", "info": "", "isLock": false, "createAt": d.at.UTC().Format(time.RFC3339)})
	}
	sum := map[string]any{"sum": map[string]any{"currencyCode": "EUR", "units": "12", "nanos": 500000000}}
	customer := map[string]any{"cuid": op.cuid, "name": "Ada Test"}
	return map[string]any{"opid": op.opid, "isVisible": true, "status": "PENDING", "type": "WITHDRAW", "paymentType": "SWIFT", "createdAt": "2026-11-01T10:00:00Z", "updatedAt": "2026-11-01T10:00:00Z",
		"source":       map[string]any{"account": map[string]any{"id": "U1", "name": "main", "number": "1234567890", "customer": customer}},
		"destination":  map[string]any{"counterpartyAccount": map[string]any{"id": "U2", "name": "out", "number": "99", "counterparty": map[string]any{"suid": "U3", "name": "Payee", "bankName": "Bank"}}},
		"sourceAmount": sum, "destinationAmount": sum, "commissionAmount": sum, "currentBalanceAmount": sum, "comment": "", "isParent": false, "reference": "R", "customer": customer, "documents": docs}
}

func (f otherFile) json(cuid string) map[string]any {
	return map[string]any{"id": f.id, "customerId": cuid, "name": f.name, "size": f.size, "mime": "application/pdf", "type": "OPERATION_DOCUMENT", "isLock": false, "createAt": f.at.UTC().Format(time.RFC3339Nano)}
}

func notFound(what string) (int, any) { return 404, map[string]any{"error": what} }

func (o *other) operation(r *http.Request) (int, any) {
	op := o.ops[r.PathValue("id")]
	if op == nil {
		return notFound("Operation not found: " + r.PathValue("id"))
	}
	return 200, map[string]any{"item": op.json()}
}

func page(items []any) (int, any) {
	return 200, map[string]any{"meta": map[string]any{"page": 0, "pageSize": max(len(items), 1), "total": fmt.Sprint(len(items))}, "items": items}
}

// first keeps lists to one page: later ones are empty.
func first(r *http.Request) bool {
	p := r.URL.Query().Get("meta.page")
	return p == "" || p == "0"
}

func (o *other) operations(r *http.Request) (int, any) {
	items := []any{}
	for _, op := range o.ops {
		if first(r) {
			items = append(items, op.json())
		}
	}
	return page(items)
}

func (o *other) customer(r *http.Request) (int, any) {
	c := o.customers[r.PathValue("cuid")]
	if c == nil {
		return notFound("Customer not found: " + r.PathValue("cuid"))
	}
	return 200, map[string]any{"item": map[string]any{"cuid": c.cuid, "type": "INDIVIDUAL", "status": "NEW", "name": "Ada", "lastname": "Test"}}
}

// application shows nothing of a share: no document says that it does.
func (o *other) application(r *http.Request) (int, any) {
	c := o.customers[r.PathValue("cuid")]
	if c == nil {
		return notFound("Customer not found: " + r.PathValue("cuid"))
	}
	out := map[string]any{"status": c.status}
	for k, v := range c.application {
		out[k] = v
	}
	return 200, out
}

func (o *other) files(r *http.Request) (int, any) {
	c := o.customers[r.PathValue("cuid")]
	if c == nil {
		return notFound("Customer not found: " + r.PathValue("cuid"))
	}
	items := []any{}
	for _, f := range c.files {
		if first(r) {
			items = append(items, f.json(c.cuid))
		}
	}
	return page(items)
}

func (o *other) download(r *http.Request) (int, any) {
	if c := o.customers[r.PathValue("cuid")]; c != nil {
		for _, f := range c.files {
			if f.id == r.PathValue("id") {
				return 200, onTheWay(func(w http.ResponseWriter) {
					w.Header().Set("Content-Type", "application/pdf")
					w.Header().Set("Content-Disposition", "attachment")
					_, _ = w.Write(f.content)
				})
			}
		}
	}
	return notFound("Document not found: " + r.PathValue("id"))
}

// write counts a write, does it or not, and answers as configured.
func (o *other) write(kind api.ActKind, act func(*http.Request) (int, any)) func(*http.Request) (int, any) {
	return func(r *http.Request) (int, any) {
		object := r.PathValue("id") + r.PathValue("cuid")
		if kind == api.ActUploadDocument {
			if _, header, err := r.FormFile("attach"); err == nil {
				object = header.Filename
			}
		} else {
			raw, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(raw)))
		}
		o.sent[string(kind)+" "+object]++
		if o.came != nil {
			o.came(kind)
		}
		how := o.next[kind]
		do := func() (int, any) {
			status, body := act(r)
			if status < 300 {
				o.done[string(kind)+" "+object]++
			}
			return status, body
		}
		if how.hold != nil {
			o.late.Go(func() {
				<-how.hold
				o.mu.Lock()
				defer o.mu.Unlock()
				do()
			})
		}
		status, body := how.status, any(nil)
		if how.hold == nil && !how.undone {
			if own, b := do(); how.status == 0 {
				status, body = own, b
			}
		}
		raw, _ := json.Marshal(body)
		if how.status != 0 {
			raw = []byte(strings.NewReplacer("OPID", r.PathValue("id"), "CUID", r.PathValue("cuid"), "DOC", r.PathValue("documentId")).Replace(how.body))
		}
		if how.status == 0 && how.way == "" {
			return status, body
		}
		return status, onTheWay(func(w http.ResponseWriter) { how.answer(w, r, max(status, 200), raw) })
	}
}

// answer writes an answer, or what is left of it.
func (how otherAnswer) answer(w http.ResponseWriter, r *http.Request, status int, raw []byte) {
	switch how.way {
	case "hang":
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case "drop":
		panic(http.ErrAbortHandler)
	}
	w.Header()["Content-Type"] = nil
	if how.kind != "" {
		w.Header().Set("Content-Type", how.kind)
	}
	if status != http.StatusNoContent {
		w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
	}
	w.WriteHeader(status)
	if how.way == "cut" {
		_, _ = w.Write(raw[:len(raw)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(raw)
}

func (o *other) remove(r *http.Request) (int, any) {
	op := o.ops[r.PathValue("id")]
	if op == nil {
		return notFound("Operation not found: " + r.PathValue("id"))
	}
	for i, d := range op.documents {
		if d.id == r.PathValue("documentId") {
			op.documents = append(op.documents[:i:i], op.documents[i+1:]...)
			return 200, map[string]any{"item": op.json()}
		}
	}
	return 409, map[string]any{"error": "Document " + r.PathValue("documentId") + " is not attached to operation " + op.opid}
}

func (o *other) attach(r *http.Request) (int, any) {
	var in struct{ DocumentID string }
	op := o.ops[r.PathValue("id")]
	if json.NewDecoder(r.Body).Decode(&in) != nil || op == nil {
		return notFound("Operation not found: " + r.PathValue("id"))
	}
	for _, f := range o.customers[op.cuid].files {
		if f.id == in.DocumentID {
			op.documents = append(op.documents, f)
			return 200, map[string]any{"item": op.json()}
		}
	}
	return notFound("Document not found: " + in.DocumentID)
}

func (o *other) upload(r *http.Request) (int, any) {
	c := o.customers[r.FormValue("customerId")]
	file, header, err := r.FormFile("attach")
	if err != nil || c == nil {
		return 400, map[string]any{"error": "customerId and attach are required"}
	}
	defer file.Close()
	content, _ := io.ReadAll(file)
	f := otherFile{uuid.NewString(), header.Filename, int(header.Size), time.Now(), content}
	c.files = append(c.files, f)
	return 200, f.json(c.cuid)
}

func (o *other) set(r *http.Request) (int, any) {
	c, in := o.customers[r.PathValue("cuid")], map[string]any{}
	if json.NewDecoder(r.Body).Decode(&in) != nil || c == nil {
		return 404, map[string]any{"success": false, "message": "Customer not found: " + r.PathValue("cuid")}
	}
	c.application = in
	return 200, map[string]any{"success": true, "message": "saved"}
}

func (o *other) finalize(r *http.Request) (int, any) {
	c := o.customers[r.PathValue("cuid")]
	if c == nil {
		return 404, map[string]any{"success": false, "message": "Customer not found: " + r.PathValue("cuid")}
	}
	c.status = "SUBMITTED"
	return 200, map[string]any{"success": true, "message": "Application submitted successfully"}
}

func (o *other) share(r *http.Request) (int, any) {
	c := o.customers[r.PathValue("cuid")]
	switch {
	case c == nil:
		return notFound("Customer not found: " + r.PathValue("cuid"))
	case c.shared:
		return 409, map[string]any{"error": "already shared"}
	}
	c.shared = true
	return 200, map[string]any{"applied": true, "message": "", "outstanding": []any{"PROOF_OF_RESIDENCE"}}
}

func (o *other) link(*http.Request) (int, any) {
	return 200, map[string]any{"ttlInSeconds": 900, "url": "https://verify.example/" + uuid.NewString()}
}

func (o *other) hookSet(r *http.Request) (int, any) {
	var in struct{ Parameters map[string]any }
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Parameters == nil {
		return 400, map[string]any{"error": "parameters are required"}
	}
	o.hook = in.Parameters
	return 200, map[string]any{"success": true, "message": "saved"}
}

func (o *other) deleteFile(r *http.Request) (int, any) {
	c := o.customers[r.PathValue("cuid")]
	if c == nil {
		return notFound("Customer not found: " + r.PathValue("cuid"))
	}
	for i, f := range c.files {
		if f.id == r.PathValue("id") {
			c.files = append(c.files[:i:i], c.files[i+1:]...)
			return 200, map[string]any{"success": true, "message": "Document deleted successfully"}
		}
	}
	return notFound("Document not found: " + r.PathValue("id"))
}
