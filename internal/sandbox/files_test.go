package sandbox_test

import (
	"bytes"
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"
	"testing"

	"opdeck/internal/sandbox"
)

// upload posts content as multipart; fields are added to customerId.
func upload(c *client, cuid, name, kind string, content []byte, fields map[string]string) reply {
	c.t.Helper()
	return post(c, "/v2/customer/file", cuid, name, kind, content, fields)
}

func post(c *client, to, cuid, name, kind string, content []byte, fields map[string]string) reply {
	c.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if cuid != "" {
		w.WriteField("customerId", cuid)
	}
	for k, v := range fields {
		w.WriteField(k, v)
	}
	if name != "" {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {mime.FormatMediaType("form-data", map[string]string{"name": "attach", "filename": name})},
			"Content-Type":        {kind}})
		if err != nil {
			c.t.Fatal(err)
		}
		part.Write(content)
	}
	w.Close()
	return c.send("POST", to, &b, w.FormDataContentType())
}

func TestUpload(t *testing.T) {
	s := open(t, sandbox.Options{})
	c, large := connect(t, s).login(), connect(t, s)
	large.access, large.http.Transport = c.access, s.Transport() // checking 10 MB against the contract takes seconds
	ana := c.cuid("Ana")
	const mb = 1 << 20
	tests := []struct {
		name       string
		cuid       string
		file, kind string
		size       int
		fields     map[string]string
		status     int
		text       string
	}{
		{"pdf", ana, "a.pdf", "application/pdf", 10 * mb, nil, 200, ""},
		{"pdf too large", ana, "a.pdf", "application/pdf", 10*mb + 1, nil, 413, "the limit for PDF is 10 MB"},
		{"png too large", ana, "a.png", "image/png", 5*mb + 1, nil, 413, "the limit for PNG is 5 MB"},
		{"text too large", ana, "a.txt", "text/plain; charset=utf-8", mb + 1, nil, 413, "the limit for text is 1 MB"},
		{"kind by its name", ana, "a.JPG", "application/octet-stream", 10, nil, 200, ""},
		{"other kind", ana, "a.exe", "application/octet-stream", 10, nil, 415, "not accepted"},
		{"empty", ana, "a.txt", "text/plain", 0, nil, 400, "The file is empty"},
		{"listed type", ana, "a.txt", "text/plain", 10, map[string]string{"type": "SOURCE_OF_FUNDS", "info": "salary"}, 200,
			""},
		{"unknown type", ana, "a.txt", "text/plain", 10, map[string]string{"type": "LOVE_LETTER"}, 400,
			"Unknown document type: LOVE_LETTER"},
		{"no customer", "", "a.txt", "text/plain", 10, nil, 400, "customerId is required"},
		{"unknown customer", "Dx", "a.txt", "text/plain", 10, nil, 404, "Customer not found: Dx"},
		{"no file", ana, "", "", 0, nil, 400, "attach is required"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := c
			if tt.size > mb {
				c = large
			}
			r := upload(c, tt.cuid, tt.file, tt.kind, bytes.Repeat([]byte("x"), tt.size), tt.fields)
			if r.status != tt.status || !strings.Contains(string(r.body), tt.text) {
				t.Fatalf("%d %.200s", r.status, r.body)
			}
			if tt.status != 200 {
				return
			}
			v := r.json(t)
			if v["size"] != float64(tt.size) || v["name"] != tt.file || v["customerId"] != ana {
				t.Errorf("%v", v)
			}
		})
	}
	if r := c.do("POST", "/v2/customer/file", map[string]string{}); r.status != 415 {
		t.Errorf("JSON instead of multipart: %d", r.status)
	}
}

func TestFileLife(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	ana := c.cuid("Ana")
	one := "/v2/customer/" + ana + "/file/"
	id := post(c, "/v2/customer/file", ana, "Beleg Ü.txt", "text/plain", []byte("content"), nil).json(t)["id"].(string)
	list := c.want(200, "GET", "/v2/customer/"+ana+"/file", nil)["items"].([]any)
	if list[0].(map[string]any)["id"] != id {
		t.Errorf("newest in the list is %v", list[0])
	}
	r := c.do("GET", one+id, nil)
	_, params, err := mime.ParseMediaType(r.header.Get("Content-Disposition"))
	if string(r.body) != "content" || r.header.Get("Content-Type") != "text/plain" || err != nil ||
		params["filename"] != "Beleg Ü.txt" ||
		r.header.Get("Cache-Control") != "private, max-age=3600" {
		t.Errorf("download %q %v", r.body, r.header)
	}
	if v := c.want(200, "DELETE", one+id, nil); v["success"] != true || v["message"] != "Document deleted successfully" {
		t.Errorf("delete: %v", v)
	}
	if r := c.do("GET", one+id, nil); r.status != 404 {
		t.Errorf("there after it was deleted: %d", r.status)
	}
}

func TestHeldFilesStay(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	o := c.operation(0)
	owner := "/v2/customer/" + o["customer"].(map[string]any)["cuid"].(string) + "/file/"
	if r := c.do("DELETE", owner+documents(o)[0]["guid"].(string), nil); r.status != 409 {
		t.Errorf("attached: %d %s", r.status, r.body)
	}
	if r := c.do("DELETE", owner+documents(o)[2]["guid"].(string), nil); r.status != 423 {
		t.Errorf("locked: %d %s", r.status, r.body)
	}
	if r := c.do("GET", "/v2/customer/"+c.cuid("Ana")+"/file/"+documents(o)[0]["guid"].(string), nil); r.status != 404 {
		t.Errorf("through another customer: %d", r.status)
	}
	d := documents(o)[0]
	r := c.do("GET", owner+d["guid"].(string), nil)
	if float64(len(r.body)) != d["size"] || r.header.Get("Content-Type") != d["mime"] {
		t.Errorf("sample content: %d bytes of %v", len(r.body), d["size"])
	}
}
