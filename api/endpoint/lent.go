package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Content is the body of a script's request.
type Content struct {
	Type  string // the request's Content-Type
	Bytes []byte
	// ShareField is the configured name of the member with the share token.
	ShareField string
}

// Bounds of a body, in bytes.
const (
	MaxJSON       = 1 << 20
	maxUploadForm = api.MaxUpload + 64<<10 // including the form around the file
)

func wrong(what string, err error) error {
	return &api.Error{Kind: api.Usage, Public: what, Unsent: true, Err: err}
}

// nothing returns an error if there is a body.
func (c Content) nothing() error {
	if len(c.Bytes) > 0 {
		return wrong("This call takes no body.", nil)
	}
	return nil
}

// json reads one JSON value. It refuses a name without a field in v, which would be lost silently.
func (c Content) json(v any) error {
	if kind, _, err := mime.ParseMediaType(c.Type); c.Type != "" && (err != nil || kind != "application/json" &&
		kind != "application/x-www-form-urlencoded") {
		return wrong("The body must be JSON (Content-Type: application/json).", err)
	}
	d := json.NewDecoder(bytes.NewReader(c.Bytes))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return wrong("The body is not the JSON that this call expects: "+untrusted.Text(err.Error()).Line(200)+".", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("The body contains more than one JSON value.", err)
	}
	return nil
}

// formNames are the fields of an upload.
const formNames = "customerId, type, info and attach"

// upload parses an upload form: customerId, type, info, and the file in attach.
func (c Content) upload() (api.Upload, error) {
	kind, params, err := mime.ParseMediaType(c.Type)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return api.Upload{}, wrong("The body must be a form with a file (Content-Type: multipart/form-data).", err)
	}
	var u api.Upload
	seen := map[string]bool{}
	form := multipart.NewReader(bytes.NewReader(c.Bytes), params["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u, wrong("The upload form cannot be read.", err)
		}
		b, err := io.ReadAll(part)
		if err != nil {
			return u, wrong("The upload form cannot be read.", err)
		}
		name := part.FormName()
		if seen[name] {
			return u, wrong("The form repeats a field.", nil)
		}
		seen[name] = true
		switch name {
		case "customerId":
			u.CUID = string(b)
		case "type":
			u.Type = string(b)
		case "info":
			u.Info = string(b)
		case "attach":
			u.Content, u.FileName = b, path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
		default:
			return u, wrong("The form has an unknown field. An upload has "+formNames+".", nil)
		}
	}
	if !seen["attach"] || !seen["customerId"] {
		return u, wrong("The form has no customerId or no attach.", nil)
	}
	return u, nil
}

// sentOr returns the write's own answer, or v as JSON if only a read proved the write.
func sentOr(raw json.RawMessage, v any) (json.RawMessage, error) {
	if len(raw) > 0 {
		return raw, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Public: "The answer cannot be written as JSON.", Err: err}
	}
	return b, nil
}

func resultAnswer(r api.Result) (json.RawMessage, error) { return sentOr(r.Raw, r) }

func text(s string) untrusted.Text { return untrusted.Text(s) }

func safe(s string) string { return text(s).Line(80) }
