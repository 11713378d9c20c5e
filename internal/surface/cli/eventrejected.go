package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

// rejectedJSON is a rejected delivery for programs.
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
	Size      int64                  `json:"size"` // bytes of the body that were read
	Header    []receiver.HeaderField `json:"header,omitempty"`
	Body      json.RawMessage        `json:"body,omitempty"` // unchanged, if it is JSON
	Raw       []byte                 `json:"raw,omitempty"`  // else its first bytes in base64
}

func rejectedOf(x receiver.Rejection, whose string, whole bool) rejectedJSON {
	out := rejectedJSON{Key: x.Key(), Context: whose, At: x.At.UTC(), Answer: x.Status, Reason: x.Reason, Detail: x.Detail,
		Source:    string(x.Source),
		Algorithm: x.Algorithm, Claims: x.Claims, Request: x.Request, Size: x.Size}
	if whole {
		out.Header = x.Header
		out.Body, out.Raw = bodyOf(x.Body)
	}
	return out
}

// rejectedList prints the rejected deliveries, newest first, and their number by reason.
func rejectedList(r *root, ctx context.Context, a *app.App, limit int, out listOf[rejectedJSON]) error {
	list, err := a.Hooks().Inbox().Rejected(ctx, limit)
	if err != nil {
		return err
	}
	counts, err := a.Hooks().Inbox().RejectCounts(ctx)
	if err != nil {
		return err
	}
	items := make([]rejectedJSON, len(list))
	for i, x := range list {
		items[i] = rejectedOf(x, a.Context.Name, false)
	}
	if len(counts) > 0 {
		var n int64
		var by []string
		for _, c := range counts {
			n += c.N
			by = append(by, fmt.Sprintf("%s %d", c.Reason, c.N))
		}
		r.say("%s rejected so far: %s. The last %d are kept.", format.Plural(int(n), "delivery", "deliveries"),
			strings.Join(by, ", "), receiver.MaxRejected)
	}
	return out.print(items, items, listed(r.options(ctx, a), present.RejectedColumns(a.Context.Name), list).
		none("No rejected deliveries."))
}

// rejectedCard prints one rejected delivery.
func rejectedCard(r *root, ctx context.Context, a *app.App, id int64, out one[rejectedJSON]) error {
	x, err := a.Hooks().Inbox().Rejection(ctx, id)
	if err != nil {
		return inboxError(err)
	}
	head := present.Section{Facts: []present.Fact{{Label: "context", Value: a.Context.Name},
		{Label: "delivery", Value: present.RejectedAt(r.options(ctx, a), x)}}}
	t := card([]present.Section{head, {Facts: present.Rejected(x)}})
	if err := out.card(rejectedOf(x, a.Context.Name, true), t); err != nil || r.output != "table" {
		return err
	}
	return r.printBody(x.Body)
}
