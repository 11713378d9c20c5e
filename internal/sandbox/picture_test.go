package sandbox_test

import (
	"bytes"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"testing"

	"opdeck/internal/sandbox"
)

// TestSamplesAreWhatTheySay: a sample picture can be decoded, a text is text, and each has its listed size.
func TestSamplesAreWhatTheySay(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	want := map[string]string{"image/png": "image/png", "image/jpeg": "image/jpeg",
		"text/plain": "text/plain; charset=utf-8", "application/pdf": "application/pdf"}
	seen := map[string]bool{}
	for _, customer := range c.want(200, "GET", "/v2/customer", nil)["items"].([]any) {
		files := "/v2/customer/" + customer.(map[string]any)["cuid"].(string) + "/file"
		for _, d := range c.want(200, "GET", files+"?meta.pageSize=100", nil)["items"].([]any) {
			doc := d.(map[string]any)
			mime, _ := doc["mime"].(string)
			if seen[mime] || want[mime] == "" {
				continue
			}
			seen[mime] = true
			b := c.do("GET", files+"/"+doc["id"].(string), nil).body
			if got := http.DetectContentType(b); got != want[mime] || float64(len(b)) != doc["size"].(float64) {
				t.Errorf("%s: %s, %d bytes of %v", mime, got, len(b), doc["size"])
			}
			if mime == "image/png" || mime == "image/jpeg" {
				if img, kind, err := image.Decode(bytes.NewReader(b)); err != nil || "image/"+kind != mime ||
					img.Bounds().Dx() < 100 {
					t.Errorf("%s: %v", mime, err)
				}
			}
		}
	}
	if len(seen) != len(want) {
		t.Errorf("only %v were found", seen)
	}
}
