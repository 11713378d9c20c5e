package followup_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/api"
)

const (
	theOp, theCustomer, theDoc, theFile = "op-1", "cust-1", "doc-1", "file-1"
	ourContent                          = "%PDF-ours"
)

type file struct{ ID, Name, Content string }

// service is a model of the service, which does each write or not, now or later, and never says so in its answer.
type service struct {
	mu        sync.Mutex
	docs      []file         // guarded by mu, as all below: of the operation
	files     []file         // of the customer
	app       map[string]any // the application
	hooks     map[string]any
	shared    bool
	perPage   int  // files of a page
	listsOnly bool // no file can be read by itself
	made      int
	sent      map[api.ActKind]int
	did       map[api.ActKind]int
	held      func() // does the last write that came with hold
	how       reaction
	ahead     time.Duration  // of its clock
	colleague func(*service) // acts right after a write came in; nil: no one does
	between   func(*service) // happens after the first page of files was read, once
}

// reaction is what becomes of a write.
type reaction struct {
	does bool
	late time.Duration // after the answer
	lose bool          // no answer comes
	hold bool          // it arrives when the test calls the service's held
}

func newService() *service {
	return &service{docs: []file{{ID: "other", Name: "other.pdf"}, {ID: theDoc, Name: "a.pdf"}}, perPage: 100,
		files: []file{{ID: "file-0", Name: "x.pdf", Content: "x"}, {ID: theFile, Name: "old.pdf", Content: "old"},
			{ID: "file-2", Name: "y.pdf", Content: "y"}},
		app:  map[string]any{"status": "DRAFT", "individual": map[string]any{"firstName": "Old"}},
		sent: map[api.ActKind]int{}, did: map[api.ActKind]int{}}
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	if t := httptrace.ContextClientTrace(r.Context()); t != nil && t.GotConn != nil {
		t.GotConn(httptrace.GotConnInfo{})
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, do := s.write(r, body)
	if kind == "" {
		return s.read(r)
	}
	s.sent[kind]++
	how := s.how
	effect := func() { do(); s.did[kind]++ }
	switch {
	case how.does && how.late > 0:
		time.AfterFunc(how.late, func() { s.mu.Lock(); defer s.mu.Unlock(); effect() })
	case how.does:
		effect()
	case how.hold: // the gateway delivers it later, and meanwhile a colleague does the same
		s.held = func() { s.mu.Lock(); defer s.mu.Unlock(); effect() }
		do()
	}
	if s.colleague != nil {
		s.colleague(s)
	}
	if how.lose {
		return nil, errors.New("connection reset by peer")
	}
	return s.reply(r, http.StatusGatewayTimeout, ""), nil
}

func (s *service) reply(r *http.Request, status int, body string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"},
		"Date": {time.Now().Add(s.ahead).UTC().Format(http.TimeFormat)}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r,
		ContentLength: int64(len(body)), ProtoMajor: 1, ProtoMinor: 1}
}

// write is the kind of a write and its effect; "" for what reads.
func (s *service) write(r *http.Request, body []byte) (api.ActKind, func()) {
	part := strings.Split(r.URL.Path, "/")
	last := part[len(part)-1]
	without := func(in []file) []file {
		return slices.DeleteFunc(slices.Clone(in), func(f file) bool { return f.ID == last })
	}
	switch m := r.Method + " " + part[2]; {
	case m == "DELETE billing":
		return api.ActRemoveDocument, func() { s.docs = without(s.docs) }
	case m == "POST billing":
		return api.ActAttachDocument, func() {
			var in struct{ DocumentID, Name string }
			_ = json.Unmarshal(body, &in)
			s.docs = append(s.docs, file{ID: in.DocumentID, Name: in.Name})
		}
	case m == "DELETE customer":
		return api.ActDeleteFile, func() { s.files = without(s.files) }
	case m == "POST customer" && last == "file":
		return api.ActUploadDocument, func() { s.upload(r, string(body)) }
	case m == "POST customer":
		return api.ActSetApplication, func() { s.app = map[string]any{}; _ = json.Unmarshal(body, &s.app) }
	case m == "PATCH customer":
		return api.ActFinalize, func() { s.app["status"] = "SUBMITTED" }
	case m == "POST compliance":
		return api.ActShare, func() { s.shared = true }
	case last == "web_sdk_link":
		return api.ActLink, func() {}
	case m == "POST hook":
		return api.ActSetHooks, func() {
			var in struct{ Parameters map[string]any }
			_ = json.Unmarshal(body, &in)
			s.hooks = in.Parameters
		}
	}
	return "", nil
}

func (s *service) upload(r *http.Request, body string) {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form, err := multipart.NewReader(strings.NewReader(body), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		return
	}
	for _, h := range form.File["attach"] {
		in, err := h.Open()
		if err != nil {
			return
		}
		b, _ := io.ReadAll(in)
		s.addFile(h.Filename, string(b))
	}
}

func (s *service) addFile(name, content string) {
	s.made++
	s.files = append(s.files, file{ID: fmt.Sprint("made-", s.made), Name: name, Content: content})
}

func (s *service) read(r *http.Request) (*http.Response, error) {
	answer := func(v any) (*http.Response, error) {
		b, err := json.Marshal(v)
		return s.reply(r, 200, string(b)), err
	}
	part := strings.Split(r.URL.Path, "/")
	last := part[len(part)-1]
	switch {
	case part[2] == "billing":
		docs := []map[string]any{}
		for _, d := range s.docs {
			docs = append(docs, map[string]any{"guid": d.ID, "fileName": d.Name, "isLock": false})
		}
		return answer(map[string]any{"item": map[string]any{"opid": theOp, "status": "PENDING",
			"customer": map[string]any{"cuid": theCustomer}, "documents": docs}})
	case last == "application":
		return answer(s.app)
	case part[2] == "hook":
		return answer(s.hooks)
	case last == "file":
		page, _ := strconv.Atoi(r.URL.Query().Get("meta.page"))
		items := []map[string]any{}
		for _, f := range s.files[min(page*s.perPage, len(s.files)):min((page+1)*s.perPage, len(s.files))] {
			items = append(items, map[string]any{"id": f.ID, "name": f.Name, "size": len(f.Content), "isLock": false})
		}
		total := len(s.files)
		if s.between != nil && page == 0 {
			s.between(s)
			s.between = nil
		}
		return answer(map[string]any{"items": items, "meta": map[string]any{"total": strconv.Itoa(total)}})
	}
	for _, f := range s.files {
		if f.ID == last && !s.listsOnly {
			resp := s.reply(r, 200, f.Content)
			resp.Header.Set("Content-Disposition", "attachment")
			return resp, nil
		}
	}
	return s.reply(r, 404, `{"error":"no"}`), nil
}
