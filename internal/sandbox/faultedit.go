package sandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
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
	"success": func(said string) answer { return jsonAnswer(0, action(false, said)) },
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
