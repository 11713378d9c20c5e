package faulty

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// edit changes an answer: another one, or the same content in another shape.
func (f fault) edit(c *call, a *answer) {
	switch f.kind {
	case "after":
		*a = f.reply.instead(c, *a)
	case "unauthorized":
		if a.status == http.StatusUnauthorized {
			*a = f.reply.instead(c, *a)
		}
	case "refusal":
		if a.refused && a.status != http.StatusUnauthorized {
			*a = f.reply.instead(c, *a)
		}
	case "moved":
		*a = answer{status: http.StatusFound, header: http.Header{"Location": {f.arg}}}
	case "rubbish":
		*a = reply{status: http.StatusOK, body: "html"}.instead(c, *a)
	case "huge":
		a.body = append([]byte(`{"padding":"`), append(bytes.Repeat([]byte("x"), f.number), `"}`...)...)
	case "mime":
		a.header = a.header.Clone()
		a.header["Content-Type"] = []string{f.arg}
		if f.arg == "none" {
			a.header["Content-Type"] = nil // prevents detection
		}
	case "style":
		if said, found := sentence(a.body); found {
			styled := styles[f.arg](said)
			styled.status = a.status
			*a = styled
		}
	default:
		f.reshape(a)
	}
}

// reshape runs the faults that edit JSON; other answers are unchanged.
func (f fault) reshape(a *answer) {
	change, found := reshapers[f.kind]
	var v any
	if !found || decode(a.body, &v) != nil {
		return
	}
	a.body = encode(change(f, v))
}

var reshapers = map[string]func(fault, any) any{
	"blank": func(f fault, v any) any {
		m, _ := v.(map[string]any)
		for k, field := range m {
			if _, isText := field.(string); isText {
				m[k] = ""
			}
		}
		return v
	},
	"omit": func(f fault, v any) any {
		if m, is := v.(map[string]any); is {
			delete(m, f.arg)
		}
		return v
	},
	"without": func(f fault, v any) any {
		return deep(v, func(v any) any {
			if m, is := v.(map[string]any); is {
				delete(m, f.arg)
			}
			return v
		})
	},
	"rename": func(f fault, v any) any {
		return deep(v, func(v any) any {
			m, _ := v.(map[string]any)
			if old, has := m[f.arg]; has {
				delete(m, f.arg)
				m[f.to] = old
			}
			return v
		})
	},
	"lift": func(f fault, v any) any {
		if m, is := v.(map[string]any); is {
			if inner, has := m[f.arg]; has {
				return inner
			}
		}
		return v
	},
	"under": func(f fault, v any) any { return map[string]any{f.arg: v} },
	"wrap": func(f fault, v any) any {
		m, _ := v.(map[string]any)
		for _, field := range m {
			wrapped(field, f.arg)
		}
		wrapped(v, f.arg)
		return v
	},
	"shape": func(f fault, v any) any { return deep(v, shapes[f.arg]) },
}

// wrapped wraps each object of a list in an object.
func wrapped(v any, key string) {
	list, _ := v.([]any)
	for i, item := range list {
		if _, object := item.(map[string]any); object {
			list[i] = map[string]any{key: item}
		}
	}
}

// deep calls change for every value, innermost first.
func deep(v any, change func(any) any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = deep(x[k], change)
		}
	case []any:
		for i := range x {
			x[i] = deep(x[i], change)
		}
	}
	return change(v)
}

// numberFields hold whole numbers, as numbers or texts.
var numberFields = []string{"total", "page", "pageSize", "units", "nanos", "size", "ttlInSeconds", "accessTtl",
	"refreshTtl"}

// shapes change one value; those for fields get the object.
var shapes = map[string]func(any) any{
	"numbers-as-text": func(v any) any {
		if n, is := v.(json.Number); is {
			return n.String()
		}
		return v
	},
	"text-as-numbers": func(v any) any {
		m, _ := v.(map[string]any)
		for k, field := range m {
			text, is := field.(string)
			if is && slices.Contains(numberFields, k) && json.Valid([]byte(text)) {
				m[k] = json.Number(text)
			}
		}
		return v
	},
	"booleans-as-text": func(v any) any {
		if b, is := v.(bool); is {
			return map[bool]string{true: "true", false: "false"}[b]
		}
		return v
	},
	"booleans-as-numbers": func(v any) any {
		if b, is := v.(bool); is {
			return map[bool]int{true: 1, false: 0}[b]
		}
		return v
	},
	"empty-as-null":  func(v any) any { return eachEmpty(v, func(m map[string]any, k string) { m[k] = nil }) },
	"empty-left-out": func(v any) any { return eachEmpty(v, func(m map[string]any, k string) { delete(m, k) }) },
}

// eachEmpty calls change for each field of an object that is an empty text or list.
func eachEmpty(v any, change func(m map[string]any, key string)) any {
	m, _ := v.(map[string]any)
	for k, field := range m {
		list, isList := field.([]any)
		if field == "" || isList && len(list) == 0 {
			change(m, k)
		}
	}
	return v
}

// styles are forms of an error body.
var styles = map[string]func(said string) answer{
	"error":   func(said string) answer { return errorAnswer(0, said) },
	"success": func(said string) answer { return jsonAnswer(0, success(false, said)) },
	"message": func(said string) answer { return jsonAnswer(0, map[string]string{"message": said}) },
	"nested": func(said string) answer {
		return jsonAnswer(0, map[string]any{"error": map[string]any{"code": 7, "message": said}})
	},
	"list": func(said string) answer {
		return jsonAnswer(0, map[string]any{"errors": []any{map[string]string{"message": said}}})
	},
	"text": func(said string) answer {
		return answer{header: http.Header{"Content-Type": {"text/plain"}}, body: []byte(said)}
	},
	"none": func(string) answer { return answer{} },
}

// sentence returns the message in an error body of either kind.
func sentence(body []byte) (string, bool) {
	var v struct {
		Error   string
		Message string
		Success *bool
	}
	if json.Unmarshal(body, &v) != nil {
		return "", false
	}
	if v.Error == "" && v.Success != nil && !*v.Success {
		v.Error = v.Message
	}
	return v.Error, strings.TrimSpace(v.Error) != ""
}

// reply is an answer that a fault sends instead of the service's own, written
// STATUS[/BODY] or BODY alone (200).
type reply struct {
	status int    // 0: the status that the answer has
	body   string // of bodies or errorTexts; "=TEXT"; "own": the body that the answer has; "": the status in words
	hang   bool   // later: no answer before the act
	drop   bool   // later: the connection is closed
}

// bodies are the ready bodies of a reply. Those that are made from the call's
// operation are in reply.operation.
var bodies = map[string]answer{
	"html": {header: http.Header{"Content-Type": {"text/html"}},
		body: []byte("<!doctype html><title>Maintenance</title><p>Back soon.")},
	"none":  {},
	"text":  {header: http.Header{"Content-Type": {"text/plain"}}, body: []byte("OK")},
	"empty": jsonAnswer(200, struct{}{}),
	"null":  jsonAnswer(200, nil),
	"list":  jsonAnswer(200, []any{}),
	"item":  jsonAnswer(200, map[string]any{"item": struct{}{}}),
	"ok":    jsonAnswer(200, success(true, "OK")),
	"false": jsonAnswer(200, success(false, "Not done")),
	"is2fa": jsonAnswer(200, map[string]any{"is2fa": true, "accessToken": "", "refreshToken": ""}),
}

// errorTexts are error sentences by name; ID and DOC are replaced by the call's ids.
var errorTexts = map[string]string{
	"no-operation": "Operation not found: ID", "no-document": "Document not found: DOC",
	"unattached": "Document DOC is not attached to operation ID",
	"ended":      "Cannot modify documents for completed operations", "locked": "Document is locked and cannot be removed",
	"no-customer":  "Customer not found: ID",
	"unconfigured": textUnconfigured, "submitted": "Application is already submitted",
	"shared":  "A share token was already applied to customer ID",
	"baas":    "Sharing is not available for partners on the BaaS verification program",
	"expired": textBadAccess, "revoked": "Token revoked. Please log in again", "unauthorized": "Unauthorized",
	"password": "Invalid login or password", "code": "Two-factor authentication code required",
	"totp": "TOTP code required", "bad-code": "Invalid code",
	"error": "Something went wrong", "no-route": "no such route", "busy": "Too many requests",
}

// operationBodies are made from the operation that the call is about.
var operationBodies = []string{"stale", "now", "no-documents", "other"}

func parseReply(text string) (r reply, err error) {
	switch text {
	case "hang":
		return reply{hang: true}, nil
	case "drop":
		return reply{drop: true}, nil
	}
	status, body, slash := strings.Cut(text, "/")
	if r.status, err = strconv.Atoi(status); err != nil && status != "-" {
		if slash {
			return r, fmt.Errorf("%q is not a status", status)
		}
		r.status, body = http.StatusOK, text
	} else if status != "-" && (r.status < 200 || r.status > 599) {
		return r, fmt.Errorf("%d is not a status", r.status)
	}
	r.body = body
	if said, own := strings.CutPrefix(body, "="); own {
		said, err = url.PathUnescape(said)
		r.body = "=" + said
		return r, err
	}
	words := append([]string{"own"}, operationBodies...)
	words = slices.AppendSeq(slices.AppendSeq(words, maps.Keys(bodies)), maps.Keys(errorTexts))
	slices.Sort(words)
	if body != "" {
		_, err = oneOf(body, words)
	}
	return r, err
}

// instead returns the reply that replaces a.
func (r reply) instead(c *call, a answer) answer {
	status := r.status
	if status == 0 {
		status = a.status
	}
	said, free := strings.CutPrefix(r.body, "=")
	ready, known := bodies[r.body]
	switch saying := errorTexts[r.body]; {
	case r.body == "own":
		a.status = status
		return withoutBody(a)
	case slices.Contains(operationBodies, r.body):
		return withoutBody(answer{status: status, header: http.Header{"Content-Type": {"application/json"}},
			body: r.operation(c)})
	case known:
		return withoutBody(answer{status: status, header: ready.header.Clone(), body: ready.body})
	case r.body == "":
		said = http.StatusText(status)
	case !free:
		said = strings.NewReplacer("ID", c.param(0), "DOC", c.param(1)).Replace(saying)
	}
	return withoutBody(errorAnswer(status, said))
}

// withoutBody removes the body of answers that must not have one.
func withoutBody(a answer) answer {
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		a.body = nil
		a.header = a.header.Clone()
		delete(a.header, "Content-Type")
	}
	return a
}

func (c *call) param(i int) string {
	if i < len(c.params) {
		return c.params[i]
	}
	return "0"
}

// operation is the call's operation as it was before ("stale") or is now, or is
// now without its documents, or another one; {} when the call is about none.
func (r reply) operation(c *call) []byte {
	raw := c.present
	if r.body == "stale" {
		raw = c.before
	}
	if raw == nil {
		return []byte("{}")
	}
	var item map[string]any
	if decode(raw, &item) != nil {
		return raw
	}
	switch r.body {
	case "other":
		item["opid"] = "00000000-0000-4000-8000-0000000f4417"
	case "no-documents":
		delete(item, "documents")
	default:
		return encode(map[string]any{"item": json.RawMessage(raw)})
	}
	return encode(map[string]any{"item": item})
}

const (
	textUnconfigured = "Application is not configured"
	textBadAccess    = "Invalid or expired access token"
)

func jsonAnswer(status int, body any) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: encode(body)}
}

func errorAnswer(status int, message string) answer {
	return jsonAnswer(status, map[string]string{"error": message})
}

// success is the body of answers to acts.
func success(done bool, message string) any {
	return struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}{done, message}
}

// encode writes JSON without the HTML escapes of encoding/json. It panics for what is no JSON.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decode reads JSON and keeps numbers as they are written.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}
