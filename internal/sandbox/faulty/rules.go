package faulty

import (
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/sandbox"
)

// FaultHelp is the grammar of faults, for people.
//
//go:embed faults.txt
var FaultHelp string

// Faults are deliberate deviations of the service; see ParseFaults.
type Faults struct {
	text     string
	rules    []fault
	lag      time.Duration
	skew     time.Duration
	order    string          // of lists of operations; "": newest
	variants map[string]bool // see variantWords
	odd      bool            // see Odd
}

// String returns the text the faults were read from.
func (f Faults) String() string { return f.text }

// fault is one rule.
type fault struct {
	text   string
	kind   string
	target string
	wait   time.Duration // delay, late, later, busy, drip
	number int           // huge, cut: bytes; cap, most, fixed: page size; arrive …: how many
	reply  reply         // status, after, later, unauthorized, refusal
	arg    string        // redirect: where to; omit: field; shape: word …
	to     string        // rename: the new name
	every  int           // fires at every n-th matching call
	skip   int           // does not fire at the first ones
	chance float64       // probability of firing then
	times  int           // most times that it fires; 0: no limit
}

// faultKinds maps each kind of rule to its argument.
var faultKinds = map[string]string{
	"drop": "", "reset": "", "refuse": "", "rubbish": "", "truncate": "", "blank": "",
	"delay": "duration", "late": "duration", "busy": "duration", "drip": "duration",
	"status": "answer", "after": "answer", "unauthorized": "answer", "refusal": "answer", "later": "late answer",
	"huge": "bytes", "cut": "bytes", "redirect": "url", "resend": "url", "moved": "url",
	"omit": "field", "without": "field", "lift": "field", "under": "field", "wrap": "field", "rename": "old/new",
	"shape": "shape", "style": "style", "mime": "type",
	"cap": "count", "most": "count", "fixed": "count", "arrive": "count", "vanish": "count", "silent": "count",
	"touch": "count",
}

// ParseFaults parses a list of faults, separated by commas, in the grammar of FaultHelp. An empty text means no
// faults.
func ParseFaults(spec string) (Faults, error) {
	f := Faults{text: strings.TrimSpace(spec), variants: map[string]bool{}}
	probability := 1.0
	for item := range strings.SplitSeq(f.text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if item == "odd" {
			f.odd = true
			continue
		}
		kind, value, found := strings.Cut(item, "=")
		if !found || value == "" {
			return Faults{}, faultError(item, "write kind=value")
		}
		var err error
		switch kind {
		case "lag":
			f.lag, err = time.ParseDuration(value)
		case "skew":
			f.skew, err = time.ParseDuration(value)
		case "probability":
			probability, err = strconv.ParseFloat(value, 64)
		case "order":
			f.order, err = oneOf(value, orders)
		case "variant":
			if value, err = oneOf(value, variantWords); err == nil {
				f.variants[value] = true
			}
		default:
			var r fault
			if r, err = parseRule(item, kind, value); err == nil {
				f.rules = append(f.rules, r)
			}
		}
		if err != nil {
			return Faults{}, faultError(item, err.Error())
		}
	}
	if probability < 0 || probability > 1 {
		return Faults{}, faultError("probability", "it must be between 0 and 1")
	}
	for i := range f.rules {
		if f.rules[i].chance == 0 {
			f.rules[i].chance = probability
		}
	}
	return f, nil
}

func faultError(item, why string) error { return fmt.Errorf("sandbox: fault %q: %s", item, why) }

func oneOf(value string, words []string) (string, error) {
	if !slices.Contains(words, value) {
		return "", fmt.Errorf("%q is unknown; use one of %s", value, strings.Join(words, ", "))
	}
	return value, nil
}

// parseRule reads TARGET[:ARGUMENT][:EVERY][~SKIP][@CHANCE][#TIMES].
func parseRule(item, kind, value string) (r fault, err error) {
	r = fault{text: item, kind: kind, every: 1}
	argument, known := faultKinds[kind]
	if !known {
		return r, fmt.Errorf("unknown kind; use one of %s, lag, skew, probability, order, variant, odd",
			strings.Join(slices.Sorted(maps.Keys(faultKinds)), ", "))
	}
	if value, err = r.suffixes(value); err != nil {
		return r, err
	}
	parts := strings.Split(value, ":")
	if argument == "url" {
		parts = strings.SplitN(value, ":", 2)
	}
	if r.target, err = oneOf(parts[0], targets()); err != nil {
		return r, err
	}
	parts = parts[1:]
	if argument != "" {
		if len(parts) == 0 {
			return r, fmt.Errorf("needs a %s: %s=TARGET:%s", argument, kind, strings.ToUpper(argument))
		}
		if err := r.argument(argument, parts[0]); err != nil {
			return r, err
		}
		parts = parts[1:]
	}
	if len(parts) > 1 {
		return r, fmt.Errorf("too many parts")
	}
	if len(parts) == 1 {
		if r.every, err = countOf(parts[0]); err != nil {
			return r, err
		}
	}
	return r, nil
}

func countOf(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a count", text)
	}
	return n, nil
}

// suffixes parses #TIMES, @CHANCE and ~SKIP from the end, in this order.
func (r *fault) suffixes(value string) (string, error) {
	value, times, found := strings.Cut(value, "#")
	var err error
	if found {
		if r.times, err = countOf(times); err != nil {
			return "", err
		}
	}
	value, chance, found := strings.Cut(value, "@")
	if found {
		number, percent := strings.CutSuffix(chance, "%")
		if r.chance, err = strconv.ParseFloat(number, 64); percent {
			r.chance /= 100
		}
		if err != nil || r.chance <= 0 || r.chance > 1 {
			return "", fmt.Errorf("%q is not a chance between 0 and 1", chance)
		}
	}
	value, skip, found := strings.Cut(value, "~")
	if found {
		if r.skip, err = countOf(skip); err != nil {
			return "", err
		}
	}
	return value, nil
}

func (r *fault) argument(kind, text string) (err error) {
	switch kind {
	case "duration":
		r.wait, err = time.ParseDuration(text)
	case "answer":
		r.reply, err = parseReply(text)
	case "late answer":
		wait, then, given := strings.Cut(text, "/")
		if r.wait, err = time.ParseDuration(wait); err == nil {
			if !given {
				then = "504"
			}
			r.reply, err = parseReply(then)
		}
	case "bytes":
		if r.number, err = strconv.Atoi(text); err == nil && r.number < 0 {
			err = fmt.Errorf("%d is not a number of bytes", r.number)
		}
	case "count":
		r.number, err = countOf(text)
	case "old/new":
		var found bool
		if r.arg, r.to, found = strings.Cut(text, "/"); !found || r.arg == "" || r.to == "" {
			err = fmt.Errorf("%q: write the old and the new name with a slash between", text)
		}
	case "shape":
		r.arg, err = oneOf(text, slices.Sorted(maps.Keys(shapes)))
	case "style":
		r.arg, err = oneOf(text, slices.Sorted(maps.Keys(styles)))
	case "type":
		r.arg, err = url.PathUnescape(text)
	default:
		r.arg = text
	}
	return err
}

// targets are the allowed targets of rules.
var targets = sync.OnceValue(func() []string {
	names := map[string]bool{"*": true, "all": true, "api": true, "read": true, "write": true}
	for _, r := range sandbox.Routes() {
		names[string(r.Class)], names[r.Name] = true, true
	}
	return slices.Sorted(maps.Keys(names))
})

// matches: a class, the name of an endpoint, "write" (not GET), "read", "api"
// (neither login nor refresh), "*" or "all".
func (r *fault) matches(rt sandbox.Route, method string) bool {
	switch r.target {
	case string(rt.Class), rt.Name, "*", "all":
		return true
	case "write":
		return method != "GET"
	case "read":
		return method == "GET"
	case "api":
		return rt.Class != limit.Login && rt.Class != limit.Refresh
	}
	return false
}

// fire returns the rules that fire for a call. mu is held.
func (in *Injector) fire(rt sandbox.Route, method string) []fault {
	var firing []fault
	for _, r := range in.faults.rules {
		if !r.matches(rt, method) {
			continue
		}
		in.fired["matched "+r.text]++
		if n := in.fired["matched "+r.text] - r.skip; n <= 0 || n%r.every != 0 {
			continue
		}
		if r.chance < 1 && rand.Float64() >= r.chance {
			continue
		}
		if in.fired[r.text]++; r.times > 0 && in.fired[r.text] > r.times {
			continue
		}
		firing = append(firing, r)
	}
	return firing
}
