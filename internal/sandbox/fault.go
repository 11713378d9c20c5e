package sandbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Faults are the mistakes the service makes on demand; see ParseFaults.
type Faults struct {
	text  string
	rules []fault
	lag   time.Duration
	skew  time.Duration
}

// String returns the text the faults were read from.
func (f Faults) String() string { return f.text }

// fault is one rule.
type fault struct {
	text   string
	kind   string
	class  string
	wait   time.Duration // delay, late, busy
	number int           // status, after: code; huge: bytes
	arg    string        // redirect: target; omit: field
	every  int           // fires at every n-th matching call
	chance float64       // of firing then
	times  int           // fires at most this often; 0: no bound
}

// argument of each kind of rule.
var faultKinds = map[string]string{
	"drop": "", "reset": "", "refuse": "", "rubbish": "", "truncate": "", "blank": "",
	"delay": "duration", "late": "duration", "busy": "duration",
	"status": "code", "after": "code", "huge": "bytes", "omit": "field", "redirect": "url",
}

// ParseFaults reads a list of faults, separated by commas. The package
// documentation has the table. An empty text is no faults.
func ParseFaults(spec string) (Faults, error) {
	f := Faults{text: strings.TrimSpace(spec)}
	probability := 1.0
	for item := range strings.SplitSeq(f.text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
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

// parseRule reads CLASS[:ARGUMENT][:EVERY][@CHANCE][#TIMES].
func parseRule(item, kind, value string) (r fault, err error) {
	r = fault{text: item, kind: kind, every: 1}
	argument, known := faultKinds[kind]
	if !known {
		return r, fmt.Errorf("unknown kind; there are %s, lag, skew, probability", strings.Join(sortedKinds(), ", "))
	}
	if value, err = r.suffixes(value); err != nil {
		return r, err
	}
	parts := strings.Split(value, ":")
	if argument == "url" {
		parts = strings.SplitN(value, ":", 2)
	}
	r.class, parts = parts[0], parts[1:]
	if argument != "" {
		if len(parts) == 0 {
			return r, fmt.Errorf("needs a %s: %s=CLASS:%s", argument, kind, strings.ToUpper(argument))
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
		if r.every, err = strconv.Atoi(parts[0]); err != nil || r.every < 1 {
			return r, fmt.Errorf("%q is no count", parts[0])
		}
	}
	return r, nil
}

func (r *fault) suffixes(value string) (string, error) {
	value, times, found := strings.Cut(value, "#")
	var err error
	if found {
		if r.times, err = strconv.Atoi(times); err != nil || r.times < 1 {
			return "", fmt.Errorf("%q is no count", times)
		}
	}
	value, chance, found := strings.Cut(value, "@")
	if found {
		if r.chance, err = strconv.ParseFloat(chance, 64); err != nil || r.chance <= 0 || r.chance > 1 {
			return "", fmt.Errorf("%q is no chance between 0 and 1", chance)
		}
	}
	return value, nil
}

func (r *fault) argument(kind, text string) (err error) {
	switch kind {
	case "duration":
		r.wait, err = time.ParseDuration(text)
	case "code":
		if r.number, err = strconv.Atoi(text); err == nil && (r.number < 200 || r.number > 599) {
			err = fmt.Errorf("%d is no status", r.number)
		}
	case "bytes":
		r.number, err = strconv.Atoi(text)
	default:
		r.arg = text
	}
	return err
}

func sortedKinds() []string {
	kinds := make([]string, 0, len(faultKinds))
	for k := range faultKinds {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// matches: a class, the name of an endpoint, "write" (not GET), "api" (neither
// login nor refresh), "*" or "all".
func (r *fault) matches(rt route, method string) bool {
	switch r.class {
	case rt.class, rt.name, "*", "all":
		return true
	case "write":
		return method != "GET"
	case "api":
		return rt.class != classLogin && rt.class != classRefresh
	}
	return false
}

// fire returns the rules that fire for this call. Their counts live in the
// file, so "every third" holds over all processes.
func fire(ctx context.Context, q querier, f Faults, rt route, method string) ([]fault, error) {
	var firing []fault
	for _, r := range f.rules {
		if !r.matches(rt, method) {
			continue
		}
		if r.every > 1 {
			n, err := bumped(ctx, q, "fault."+r.text)
			if err != nil {
				return nil, err
			}
			if n%int64(r.every) != 0 {
				continue
			}
		}
		if r.chance < 1 && rand.Float64() >= r.chance {
			continue
		}
		n, err := bumped(ctx, q, "fired."+r.text)
		if err != nil {
			return nil, err
		}
		if r.times > 0 && n > int64(r.times) {
			continue
		}
		firing = append(firing, r)
	}
	return firing, nil
}

// bumped adds one to a counter and returns it.
func bumped(ctx context.Context, q querier, name string) (n int64, err error) {
	err = q.QueryRowContext(ctx, `INSERT INTO counter(name, value) VALUES(?, 1) ON CONFLICT(name) DO UPDATE SET value = value + 1 RETURNING value`, name).Scan(&n)
	return n, err
}
