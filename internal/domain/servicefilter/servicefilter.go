// Package servicefilter converts a filter over operations to the service's own list filters, so that a query about
// one customer or account costs one call instead of all pages. The service's filters are only a first selection: the
// result is filtered here as well.
package servicefilter

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
)

// Question is one query of the service for fewer operations.
type Question struct {
	Query api.OperationQuery // Page and Size are free
	Words string             // for people: "the customer's name contains “Ana”"
	part  filter.OperationExpr
}

// identifier matches a possible id or account number: one long word, not letters alone.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_-]*[0-9_-][A-Za-z0-9_-]*$`)

const shortest = 8 // characters of an identifier

// Questions returns the queries for f, most exact first; none if the service has no filter for it. A value that looks
// like an identifier may still be part of a name: then the next query is the right one.
func Questions(f filter.OperationExpr) []Question {
	var byID, byName, byAccount []Question
	for _, part := range f.Parts() {
		l, ok := part.(*filter.Leaf)
		if !ok || len(l.Values) != 1 || l.Values[0].Range || l.Op != filter.Has && l.Op != filter.Eq {
			continue
		}
		v := l.Values[0].Text
		id := len(v) >= shortest && len(v) <= 64 && identifier.MatchString(v)
		shown, own := untrusted.Text(v).Line(100), f.Of(part)
		switch {
		case v == "":
		case l.Field == "customer" && id:
			byID = append(byID, Question{api.OperationQuery{ClientCUID: v}, "the customer is " + shown, own})
			fallthrough
		case l.Field == "customer":
			byName = append(byName, Question{api.OperationQuery{ClientName: v}, "the customer's name contains “" + shown + "”",
				own})
		case id && !l.Masked && (l.Field == "source" || l.Field == "destination" || l.Field == "party"):
			byAccount = append(byAccount, Question{api.OperationQuery{Account: v}, "the account is " + shown, own})
		}
	}
	return append(append(byID, byAccount...), byName...)
}

// Answer is the result of one of the queries.
type Answer struct {
	Asked string // the words of the query; "" without one
	Page  api.Page[api.Operation]
	Held  bool // all operations on the page match that part of the filter
	Whole bool // the filter has no other part
}

// Ask runs the queries in turn until one returns operations: one billing call each. page and size are passed on; size
// 0 is the default. A role that may not reveal account numbers cannot query by one. If no query returns operations,
// it returns the last answer.
func Ask(ctx context.Context, c endpoint.Caller, f filter.OperationExpr, page, size int,
	now time.Time) (Answer, error) {
	var last Answer
	f = f.For(ctx)
	for _, q := range Questions(f) {
		q.Query.Page, q.Query.Size = page, size
		p, err := endpoint.Do(ctx, c, endpoint.ListOperations, q.Query)
		if err != nil {
			return last, err
		}
		last = Answer{Asked: q.Words, Page: p, Held: true, Whole: len(f.Parts()) == 1}
		for _, o := range p.Items {
			last.Held = last.Held && q.part.Match(o, now)
		}
		if len(p.Items) > 0 {
			break
		}
	}
	return last, nil
}

// Summary describes an answer for people.
func (a Answer) Summary() string {
	many := string(a.Page.Total)
	if many == "" {
		many = strconv.Itoa(len(a.Page.Items)) + " on this page"
	}
	if len(a.Page.Items) > 0 && !a.Held {
		return "The service was asked for operations where " + a.Asked + ", but it returned others as well."
	}
	return "The service was asked for operations where " + a.Asked + ": it has " + many + "."
}
