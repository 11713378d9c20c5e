package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
	"opdeck/ui/draw"
)

// rejectedJSON is a delivery that was not accepted, for programs.
type rejectedJSON struct {
	Key       string                 `json:"key"`
	Context   string                 `json:"context"`
	At        time.Time              `json:"at"`
	Answer    int                    `json:"answer"` // HTTP status
	Reason    string                 `json:"reason"`
	Detail    string                 `json:"detail"`
	Source    string                 `json:"source"`
	Algorithm string                 `json:"algorithm,omitempty"`
	Claims    []string               `json:"claims,omitempty"` // names
	Request   string                 `json:"request"`
	Size      int64                  `json:"size"` // of the body, as far as it was read
	Header    []receiver.HeaderField `json:"header,omitempty"`
	Body      json.RawMessage        `json:"body,omitempty"` // as it came, when it is JSON
	Raw       []byte                 `json:"raw,omitempty"`  // else the beginning of its bytes in base64
}

func rejectedOf(x receiver.Rejection, whose string, whole bool) rejectedJSON {
	out := rejectedJSON{Key: x.Key(), Context: whose, At: x.At.UTC(), Answer: x.Status, Reason: x.Reason, Detail: x.Detail, Source: string(x.Source),
		Algorithm: x.Algorithm, Claims: x.Claims, Request: x.Request, Size: x.Size}
	if !whole {
		return out
	}
	if out.Header = x.Header; json.Valid(x.Body) {
		out.Body = x.Body
	} else {
		out.Raw = x.Body
	}
	return out
}

// rejectedList prints what was not accepted, newest first, and tells how many
// there were by reason.
func (r *root) rejectedList(ctx context.Context, a *app.App, limit int) error {
	list, err := a.Inbox().Rejected(ctx, limit)
	if err != nil {
		return err
	}
	counts, err := a.Inbox().RejectCounts(ctx)
	if err != nil {
		return err
	}
	t := &table{head: []string{"KEY", "AT", "CONTEXT", "FROM", "ANSWER", "REASON", "BYTES", "WHAT TO DO"}, right: map[int]bool{4: true, 6: true}}
	items := make([]rejectedJSON, 0, len(list))
	for _, x := range list {
		t.add(x.Key(), x.At.UTC().Format("2006-01-02 15:04:05"), oneLine(a.Context.Name), oneLine(string(x.Source)), strconv.Itoa(x.Status), oneLine(x.Reason),
			strconv.FormatInt(x.Size, 10), oneLine(x.Detail))
		items = append(items, rejectedOf(x, a.Context.Name, false))
	}
	if len(counts) > 0 {
		var n int64
		var by []string
		for _, c := range counts {
			n += c.N
			by = append(by, oneLine(fmt.Sprintf("%s %d", c.Reason, c.N)))
		}
		r.say("%s rejected so far: %s. The last %d are kept.", draw.Plural(int(n), "delivery", "deliveries"), strings.Join(by, ", "), receiver.MaxRejected)
	}
	return r.list(t, items, toAny(items))
}

// rejectedCard prints one delivery that was not accepted.
func (r *root) rejectedCard(ctx context.Context, a *app.App, id int64) error {
	x, err := a.Inbox().Rejection(ctx, id)
	if err != nil {
		return inboxError(err)
	}
	if r.output != "table" {
		return r.printJSON(rejectedOf(x, a.Context.Name, true))
	}
	t := &table{head: []string{"FIELD", "VALUE"}}
	t.add("key", x.Key())
	t.add("context", oneLine(a.Context.Name))
	t.add("at", moment(x.At)+" from "+oneLine(string(x.Source)))
	t.add("answer", strconv.Itoa(x.Status))
	t.add("reason", oneLine(x.Reason))
	t.add("what to do", oneLine(x.Detail))
	if x.Algorithm != "" {
		t.add("algorithm", oneLine(x.Algorithm))
	}
	if len(x.Claims) > 0 {
		t.add("claims", oneLine(strings.Join(x.Claims, " ")))
	}
	t.add("request", oneLine(x.Request))
	for _, h := range x.Header {
		t.add("header", oneLine(h.Name+": "+h.Value))
	}
	size := fmt.Sprintf("%d bytes", x.Size)
	if int64(len(x.Body)) < x.Size {
		size += fmt.Sprintf("; the first %d are kept", len(x.Body))
	}
	t.add("body", size)
	if err := t.write(r.env.Out); err != nil {
		return err
	}
	if json.Valid(x.Body) {
		return r.printJSON(json.RawMessage(x.Body))
	}
	_, err = fmt.Fprintln(r.env.Out, strconv.QuoteToASCII(string(x.Body)))
	return err
}
