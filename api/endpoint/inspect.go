package endpoint

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// InspectOperations reads a page of the list of operations (one billing call). opid and cuid are an operation and a
// customer for further reads, "" if there is none.
func (w *Wire) InspectOperations(ctx context.Context) (p api.Inspection, opid, cuid string) {
	page, p := inspectList[api.Operation](ctx, w, ListOperations.Route, api.OperationRecord)
	for _, o := range page.Items {
		if opid == "" {
			opid = string(o.OPID)
		}
		if cuid == "" {
			cuid = string(o.Customer.CUID)
		}
		if o.OPID != "" && w.Phase(o) == api.PhaseUnknown {
			p.Words++
		}
	}
	p.Order = api.OrderOf(page.Items)
	p.Settings = append(w.pagingSettings(ctx, page, &p), readingSettings(p.At, p.Words, p.Beside)...)
	return p, opid, cuid
}

// readingSettings are the settings for a list under another name, for unknown status words and for members beside
// amounts. No answer says what a word or a member means, so its line is a comment until a person has chosen.
func readingSettings(at string, words int, beside []string) (out []string) {
	if name := at[strings.LastIndexByte(at, '.')+1:]; name != "" && name != "items" {
		out = append(out, fmt.Sprintf("list_field = %q", name))
	}
	if len(beside) > 0 {
		list := strings.ReplaceAll(fmt.Sprintf("%q", beside), `" "`, `", "`)
		out = append(out, "# amount_ignore = "+list+" # those of them that do not change an amount")
	}
	if words > 0 {
		out = append(out, `# status_words = { WORD = "open" } # for each word: open, completed, failed or canceled`)
	}
	return out
}

// InspectCustomers reads a page of customers (one customer call); cuid is the first.
func (w *Wire) InspectCustomers(ctx context.Context) (p api.Inspection, cuid string) {
	page, p := inspectList[api.Customer](ctx, w, ListCustomers.Route, api.CustomerRecord)
	for _, cu := range page.Items {
		if cu.CUID != "" {
			return p, string(cu.CUID)
		}
	}
	return p, ""
}

// InspectFiles reads a page of a customer's documents (one customer call).
func (w *Wire) InspectFiles(ctx context.Context, cuid string) api.Inspection {
	_, p := inspectList[api.CustomerFile](ctx, w, ListFiles.Route, api.FileRecord, cuid)
	return p
}

// InspectOperation reads one operation (one billing call).
func (w *Wire) InspectOperation(ctx context.Context, opid string) api.Inspection {
	return w.inspectOne(ctx, GetOperation.Route, api.OperationRecord, api.Operation{}, opid)
}

// InspectApplication reads a customer's application (one customer call).
func (w *Wire) InspectApplication(ctx context.Context, cuid string) api.Inspection {
	r, err := GetApplication.request(cuid)
	if err != nil {
		return api.Inspection{Err: err}
	}
	a, p := w.client.Inspect(ctx, r)
	if p.Err != nil {
		return p
	}
	app, err := applicationIn(r, a)
	if p.Err = err; err == nil {
		_, p.At, _ = api.ApplicationRecord.Find(api.ParseJSON(a.Body))
		p.Compare(api.ApplicationRecord, app, app.Raw)
	}
	return p
}

// InspectHooks reads the webhook settings (one general call).
func (w *Wire) InspectHooks(ctx context.Context) api.Inspection {
	type settings struct {
		api.HookSettings
		Secret untrusted.Text `json:"jwtSecret"`
	}
	return w.inspectOne(ctx, GetHooks.Route, api.HooksRecord, settings{})
}

// InspectCustomer tries how the service returns one customer (one to three customer calls).
func (w *Wire) InspectCustomer(ctx context.Context, cuid string) api.Inspection {
	began := w.client.Now()
	cu, err := Do(ctx, w, GetCustomer, cuid)
	one, all := GetCustomer.Template(), ListCustomers.Path
	p := api.Inspection{Call: []string{"GET " + one, "POST " + one,
		"GET " + all + ", narrowed to the customer"}[w.customers.get()],
		Took: w.client.Now().Sub(began), Err: err}
	if e := api.AsError(err); e != nil {
		p.Status = e.Status
		return p
	}
	p.Status = http.StatusOK
	p.Compare(api.CustomerRecord, api.Customer{}, cu.Raw)
	return p
}

func (w *Wire) inspectOne(ctx context.Context, route *Route, t api.RecordType, record any,
	ids ...string) api.Inspection {
	r, err := route.request(ids...)
	if err != nil {
		return api.Inspection{Err: err}
	}
	return w.client.InspectOne(ctx, r, t, record)
}

func inspectList[T api.Record](ctx context.Context, w *Wire, route *Route, t api.RecordType,
	ids ...string) (api.Page[T], api.Inspection) {
	r, err := route.request(ids...)
	if err != nil {
		return api.Page[T]{}, api.Inspection{Err: err}
	}
	r.Query = route.values(page(w.client.Service(), 0, 0))
	asked := maps.Clone(r.Query)
	w.paging().Ask(r.Query, "")
	got, p := api.InspectList[T](ctx, w.client, w.service(), r, t)
	if w.countsFromOne(r, p.Err) {
		r.Query = asked
		w.paging().Ask(r.Query, "")
		again, q := api.InspectList[T](ctx, w.client, w.service(), r, t)
		if q.Err == nil {
			return again, q
		}
		w.first.Store(0)
	}
	return got, p
}
