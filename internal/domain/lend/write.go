package lend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Client is the service as a borrower reaches it: masked for its role, its writes
// through the gate.
type Client interface {
	Relay(ctx context.Context, r endpoint.Raw) (*api.Relayed, error)
	RemoveDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error)
	AttachDocument(ctx context.Context, opid, guid, name string) (api.Operation, error)
	UploadDocument(ctx context.Context, u api.Upload) (api.CustomerFile, error)
	SetApplication(ctx context.Context, cuid string, body json.RawMessage) (api.Result, error)
	Finalize(ctx context.Context, cuid string) (api.Result, error)
	Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error)
	Link(ctx context.Context, cuid string) (api.Link, error)
	DeleteFile(ctx context.Context, r api.DeleteFile) (api.Result, error)
	SetHooks(ctx context.Context, h api.HookSettings) error
}

// Content is the body of a borrower's write.
type Content struct {
	Type  string // as the request's header tells
	Bytes []byte
	// ShareField is the config's name of the field that carries a share token.
	ShareField string
}

// Bounds of a body, in bytes.
const (
	MaxJSON   = 1 << 20
	MaxUpload = api.MaxUpload + 64<<10 // with the form around the file
)

// MaxBody is the largest body that the route takes.
func (r Route) MaxBody() int64 {
	switch {
	case !r.Writes():
		return 0
	case r.Act == "document.upload":
		return MaxUpload
	}
	return MaxJSON
}

// writer does the write of a route and returns the answer for the borrower.
type writer func(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error)

// Write does the write of the call.
func (c Call) Write(ctx context.Context, client Client, body Content) (json.RawMessage, error) {
	return c.write(ctx, client, c.IDs, body)
}

func remove(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	if err := body.empty(); err != nil {
		return nil, err
	}
	op, err := c.RemoveDocument(ctx, api.RemoveDocument{OPID: ids[0], GUID: ids[1]})
	return operationItem(op, err)
}

func attach(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	var in struct {
		DocumentID string `json:"documentId"`
		Name       string `json:"name"`
	}
	if err := body.json(&in); err != nil {
		return nil, err
	}
	op, err := c.AttachDocument(ctx, ids[0], in.DocumentID, in.Name)
	return operationItem(op, err)
}

// operationItem is the service's answer to a write on an operation. The record is
// null when it was done and cannot be shown.
func operationItem(op api.Operation, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return encode(map[string]json.RawMessage{"item": orNull(op.Raw)})
}

func upload(ctx context.Context, c Client, _ []string, body Content) (json.RawMessage, error) {
	u, err := body.upload()
	if err != nil {
		return nil, err
	}
	f, err := c.UploadDocument(ctx, u)
	if err != nil {
		return nil, err
	}
	if len(f.Raw) > 0 {
		return f.Raw, nil
	}
	return encode(map[string]untrusted.Text{"id": f.ID})
}

func setApplication(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	if err := body.json(new(json.RawMessage)); err != nil {
		return nil, err
	}
	return resultOf(c.SetApplication(ctx, ids[0], body.Bytes))
}

func finalize(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	if err := body.empty(); err != nil {
		return nil, err
	}
	return resultOf(c.Finalize(ctx, ids[0]))
}

func resultOf(r api.Result, err error) (json.RawMessage, error) {
	if err != nil || len(r.Raw) > 0 {
		return r.Raw, err
	}
	return encode(r)
}

func share(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	in := map[string]string{}
	if err := body.json(&in); err != nil {
		return nil, err
	}
	given, ok := in[body.ShareField]
	if !ok || len(in) != 1 {
		return nil, wrong("The body must be a JSON object with "+body.ShareField+" and nothing else.", nil)
	}
	token, err := api.CheckShareToken(given)
	if err != nil {
		return nil, err
	}
	r, err := c.Share(ctx, ids[0], token)
	if err != nil || len(r.Raw) > 0 {
		return r.Raw, err
	}
	return encode(r)
}

func link(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	if err := body.empty(); err != nil {
		return nil, err
	}
	l, err := c.Link(ctx, ids[0])
	if err != nil || len(l.Raw) > 0 {
		return l.Raw, err
	}
	return encode(map[string]any{"url": l.URL, "ttlInSeconds": l.TTL})
}

func deleteFile(ctx context.Context, c Client, ids []string, body Content) (json.RawMessage, error) {
	if err := body.empty(); err != nil {
		return nil, err
	}
	r, err := c.DeleteFile(ctx, api.DeleteFile{CUID: ids[0], ID: ids[1]})
	if err != nil || len(r.Raw) > 0 {
		return r.Raw, err
	}
	return encode(r)
}

// hookNames are the webhook settings.
var hookNames = []string{"enabled", "hookUrl", "jwtSecret", "hookCustomer", "hookOperation", "hookDepositAccount", "hookCounterparty"}

func setHooks(ctx context.Context, c Client, _ []string, body Content) (json.RawMessage, error) {
	var in struct {
		Parameters struct {
			api.HookSettings
			Secret string `json:"jwtSecret"`
		} `json:"parameters"`
	}
	if err := body.json(&in); err != nil {
		return nil, err
	}
	var given struct {
		Parameters map[string]json.RawMessage `json:"parameters"`
	}
	if err := body.json(&given); err != nil {
		return nil, err
	}
	for _, name := range hookNames { // one that is left out would be switched off
		if v := given.Parameters[name]; v == nil || string(v) == "null" || string(v) == `""` {
			return nil, wrong("The body must hold parameters with all settings; "+name+" is missing.", nil)
		}
	}
	h := in.Parameters.HookSettings
	h.JWTSecret = secret.New(in.Parameters.Secret)
	if err := c.SetHooks(ctx, h); err != nil {
		return nil, err
	}
	return encode(api.Result{Success: true})
}

func encode(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Public: "The answer cannot be written as JSON.", Err: err}
	}
	return b, nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func wrong(what string, err error) error {
	return &api.Error{Kind: api.Usage, Public: what, Unsent: true, Err: err}
}

func (c Content) empty() error {
	if len(c.Bytes) > 0 {
		return wrong("This call takes no body.", nil)
	}
	return nil
}

// json reads one JSON value. A name that v has no field for is refused: it would be
// lost without a word.
func (c Content) json(v any) error {
	if kind, _, err := mime.ParseMediaType(c.Type); c.Type != "" && (err != nil || kind != "application/json" && kind != "application/x-www-form-urlencoded") {
		return wrong("The body must be JSON (Content-Type: application/json).", err)
	}
	d := json.NewDecoder(bytes.NewReader(c.Bytes))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return wrong("The body is not the JSON that this call takes: "+untrusted.Text(err.Error()).Line(200)+".", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("The body holds more than one JSON value.", err)
	}
	return nil
}

// formNames are the fields of an upload.
const formNames = "customerId, type, info and attach"

// upload reads the form of an upload: customerId, type, info, and the file in attach.
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
			return u, wrong("The form of the upload cannot be read.", err)
		}
		b, err := io.ReadAll(part)
		if err != nil {
			return u, wrong("The form of the upload cannot be read.", err)
		}
		name := part.FormName()
		if seen[name] {
			return u, wrong("The form has a field twice.", nil)
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
			return u, wrong("The form has a field that an upload does not take; it takes "+formNames+".", nil)
		}
	}
	if !seen["attach"] || !seen["customerId"] {
		return u, wrong("The form lacks customerId or attach.", nil)
	}
	return u, nil
}
