package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act/remedy"
	"opdeck/internal/format"
)

// deepNames are the findings of a deep check.
var deepNames = []string{"operations", "operation", "customers", "customer", "documents", "application", "webhooks"}

// deep reads a page of each list and a record of each kind, and reports how the service's answers differ from the
// expected ones: two billing calls, four customer calls (up to two more) and one general one.
func (d *doctor) deep(ctx context.Context, a *App, live bool) {
	if !live {
		for _, name := range deepNames {
			d.add(name, Skipped, "needs the service and a session", "")
		}
		return
	}
	c := a.service
	ops, opid, cuid := c.InspectOperations(ctx)
	d.probed("operations", ops)
	if opid == "" {
		d.add("operation", Skipped, "there is no operation to read", "")
	} else {
		d.probed("operation", c.InspectOperation(ctx, opid))
	}
	customers, first := c.InspectCustomers(ctx)
	d.probed("customers", customers)
	if first != "" {
		cuid = first
	}
	if cuid == "" {
		for _, name := range []string{"customer", "documents", "application"} {
			d.add(name, Skipped, "there is no customer to read", "")
		}
	} else {
		d.probed("customer", c.InspectCustomer(ctx, cuid))
		d.probed("documents", c.InspectFiles(ctx, cuid))
		app := c.InspectApplication(ctx, cuid)
		if api.KindOf(app.Err) == api.NotFound {
			d.add("application", Skipped, fmt.Sprintf("%s: %d, the first customer has no application", app.Call, app.Status), "")
		} else {
			d.probed("application", app)
		}
	}
	d.probed("webhooks", c.InspectHooks(ctx))
	d.settings()
}

// settings prints the settings that would fix what was not understood, as TOML to paste.
func (d *doctor) settings() {
	if len(d.mends) == 0 {
		return
	}
	slices.Sort(d.mends)
	d.find(Finding{Name: "settings", Health: Warned, Text: "these lines of the config would change how answers are read:",
		Settings: append([]string{"[service]"}, slices.Compact(d.mends)...)})
}

// probed reports the result of one call.
func (d *doctor) probed(name string, p api.Inspection) {
	f := Finding{Name: name, Health: Healthy, Text: callLine(p)}
	if p.Err != nil {
		e := api.AsError(p.Err)
		f.Health, f.Text, f.Hint = Failed, f.Text+": "+e.Own(), remedy.Command(e)
		if e.Remedy.Kind == api.CompareAnswers { // that is in progress
			f.Hint = ""
		}
		f.Differs = differs(p)
		d.find(f)
		return
	}
	d.mends = append(d.mends, p.Settings...)
	if p.TotalAt != "" || p.Asked > 0 {
		f.Text += ", " + listLine(p)
	}
	if f.Differs = differs(p); len(f.Differs) > 0 {
		f.Health = Warned
	}
	if len(p.Unknown) > 0 { // no problem: the service's pages are incomplete
		f.Differs = append(f.Differs,
			fmt.Sprintf("fields that opdeck does not know (kept and shown): %s", strings.Join(p.Unknown, ", ")))
	}
	d.find(f)
}

func callLine(p api.Inspection) string {
	status := "no answer"
	if p.Status > 0 {
		status = fmt.Sprint(p.Status)
	}
	return fmt.Sprintf("%s: %s after %s", p.Call, status, format.Duration(p.Took))
}

// listLine says how much of a list was read.
func listLine(p api.Inspection) string {
	s := fmt.Sprintf("%d read", p.Items)
	if p.Total != "" {
		s += " of " + string(p.Total)
	}
	if p.Items == p.Asked {
		s += fmt.Sprintf(", page size %d honoured", p.Asked)
	}
	if p.Order != "" {
		s += ", " + string(p.Order)
	}
	return s
}

// differs lists the differences from the expected answer, one a line.
func differs(p api.Inspection) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	list := p.Asked > 0
	if p.Content != "" && p.Content != "application/json" && p.Status < 300 {
		add("the answer comes with %s instead of application/json", p.Content)
	}
	if strings.HasPrefix(p.Call, "POST") || strings.Contains(p.Call, "narrowed") {
		add("GET /v2/customer/{} does not read a customer; opdeck found this route by itself")
	}
	switch {
	case p.Err != nil:
	case list && p.At == "":
		add("the answer is the list itself, not an object around it")
	case list && p.At != "items":
		add("the list is under “%s”, not under “items”; opdeck found it, and [service] list_field = %q pins it",
			p.At, p.At)
	case !list && strings.Contains(p.Call, "operation") && p.At == "":
		add("the record is the answer itself, not under “item”")
	case !list && p.At != "" && p.At != "item":
		add("the record is under “%s”", p.At)
	}
	if p.Err == nil && list {
		if p.Wrapper != "" {
			add("each record is inside an object, under “%s”", p.Wrapper)
		}
		switch {
		case p.TotalAt == "" && p.Items > 0:
			add("the service reports no total: opdeck cannot say how many there are")
		case p.TotalAt != "" && p.TotalAt != "meta.total":
			add("the total is at “%s”, not at “meta.total”", p.TotalAt)
		}
		out = append(out, pageSize(p)...)
		if p.Repeats {
			add("page 1 repeats page 0: this service does not use the names of paging parameters that opdeck sends")
		}
		if p.After.Key != "" {
			add("it says under “%s” whether more follows", p.After.Key)
		}
		if p.After.Next != "" && !p.After.ByNumber && !strings.HasSuffix(p.Call, endpoint.ListOperations.Template()) {
			add("lists that opdeck reads to their end follow its cursor; --page of a command asks for a page by number")
		}
	}
	if len(p.Amounts) > 0 {
		add("amounts that are not known; opdeck shows them as “?” and leaves them out of sums and filters: %s. Members "+
			"that do not change an amount belong in [service] amount_ignore", strings.Join(p.Amounts, "; "))
	}
	if p.Unusable > 0 {
		add("%d of %d records have no identifier and cannot be used", p.Unusable, p.Items)
	}
	if p.Order == api.OldestFirst || p.Order == api.NoOrder {
		add("the list comes %s, not newest first", p.Order)
	}
	for _, group := range []struct {
		words string
		names []string
	}{{"expected fields that are missing", p.Missing}, {"values that cannot be read", p.Odd},
		{"values of another type, which opdeck reads anyway", p.Kinds}} {
		if len(group.names) > 0 {
			add("%s: %s", group.words, strings.Join(group.names, ", "))
		}
	}
	if p.Words > 0 {
		add("status words that opdeck does not know, on %d of the operations: see [service] status_words", p.Words)
	}
	if p.Announced != "" {
		add("the service announces the end of this call: %s", p.Announced)
	}
	return out
}

// pageSize reports a page of another size than requested.
func pageSize(p api.Inspection) []string {
	total := 0
	_, err := fmt.Sscan(string(p.Total), &total)
	switch {
	case p.Items > p.Asked:
		return []string{fmt.Sprintf("the page has %d records, though %d were asked for", p.Items, p.Asked)}
	case err == nil && p.Items < p.Asked && p.Items < total:
		return []string{fmt.Sprintf(
			"the page has %d records of %d, though %d were asked for: set [service] list_page_size = %d",
			p.Items, total, p.Asked, p.Items)}
	case p.Reported > 0 && p.Reported != p.Asked:
		return []string{fmt.Sprintf("the service reports a page size of %d, but opdeck asked for %d", p.Reported, p.Asked)}
	}
	return nil
}
