package paint

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
)

// names are of people and companies in many scripts, with all that terminals count in different ways.
var names = []string{
	"ﾔﾏﾀﾞ ﾊﾟﾙ", "ｶ)ｻﾞﾍﾞｽﾄ ｼﾞﾔﾊﾟﾝ", "ﾎﾟｯﾌﾟｽ ﾀﾞｲｷﾞﾝｺｳ", "山田 太郎", "漢\u0301字", "か\u3099く\u3099や", "さくら精密工業株式会社", "𠮷野家",
	"서연 김", "\u1112\u1161\u11ab\u1100\u1173\u11af 무역", "क्षितिज स्त्री", "प्रिया रघुनाथन", "ক্ষিতীশ চন্দ্র", "প্রিয়াঙ্কা", "ਪੰਜਾਬੀ ਸਿੰਘ",
	"ગુજરાતી પટેલ", "ଓଡ଼ିଆ ମହାନ୍ତି", "நிலா செல்வி", "తెలుగు శ్రీ", "ಕನ್ನಡ ಕ್ಷೇತ್ರ", "മലയാളം ക്ഷമ", "සිංහල ආයු", "ราตรี สุขสวัสดิ์", "กำธร น้ำผึ้ง",
	"ລາວ ຄຳ", "ខ្មែរ ស្រី", "မြန်မာ ကြည်", "བོད་སྐད བཀྲ", "شركة النخيل", "مُحَمَّد", "שִׁירָה כהן", "Σοφία Παπά", "Дми\u0306трий", "Nguye\u0302\u0303n Thi\u0323",
	"Zoe\u0308 D’Août", "አማርኛ ሰላም", "ქართული", "Հայկ Ղազարյան", "👍🏽 Ltd 🇩🇪", "❤ Shop ☎",
}

// wide is how many cells each name gets, mark stands behind it.
const wide, behind = 30, "│ 12.50"

// namesView is a list of the names between two columns.
func namesView() []string {
	var view []string
	for _, n := range names {
		view = append(view, draw.Fit(untrusted.Text(n).Line(0), wide)+behind)
	}
	return view
}

// wantName checks a line that a terminal shows: all letters of the name, and all of what stands behind it. Blanks may be
// in a name where more cells are kept than this terminal takes.
func wantName(t *testing.T, name, line string) {
	t.Helper()
	shown, ok := strings.CutSuffix(line, behind)
	if letters := strings.ReplaceAll(shown, " ", ""); !ok || letters != strings.ReplaceAll(name, " ", "") {
		t.Errorf("%q is shown as %q", name, line)
	}
}

func TestNamesInTheEmulator(t *testing.T) {
	e, s := newTerminal(t, 60, len(names)), &screen{}
	e.feed(modes{}.enter(nil))
	e.feed(s.draw(nil, []string{strings.Repeat("x", 60)}, 60, len(names)))
	for range 2 { // drawn, and drawn over what was there, in another order
		view := namesView()
		e.feed(s.draw(nil, view, 60, len(names)))
		for y, name := range names {
			wantName(t, name, e.text(y))
			if got := e.look(wide, y).Content; got != "│" {
				t.Errorf("behind %q column %d shows %q", name, wide, got)
			}
		}
		e.feed(s.draw(nil, append(view[1:], view[0]), 60, len(names)))
	}
}

func TestNamesInTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		if strings.Contains(os.Getenv("OPDECK_TEST_REQUIRE"), "tmux") {
			t.Fatal(err)
		}
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	s := &screen{}
	b := modes{}.enter(nil)
	b = append(b, s.draw(nil, append(namesView()[1:], namesView()[0]), 60, len(names))...)
	b = append(b, s.draw(nil, namesView(), 60, len(names))...)
	file := filepath.Join(dir, "frames")
	if err := os.WriteFile(file, append(b, "\x1b[40;50Hend"...), 0o600); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(dir, "socket"), "-f", os.DevNull}, args...)...)
		cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return string(bytes.TrimRight(out, "\n"))
	}
	tmux("new-session", "-d", "-x", "60", "-y", strconv.Itoa(len(names)+1), "cat "+file+"; exec sleep 60")
	defer tmux("kill-server")
	var lines []string
	for late := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // another program's time
		if lines = strings.Split(tmux("capture-pane", "-p"), "\n"); strings.Contains(strings.Join(lines, ""), "end") {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("tmux shows %q", lines)
		}
	}
	for y, name := range names {
		line, _, _ := strings.Cut(lines[y], "end")
		line = strings.TrimRight(line, " ")
		wantName(t, name, line)
		before, _, _ := strings.Cut(line, "│")
		tmux("set-option", "-g", "@before", before)
		if w := tmux("display-message", "-p", "#{w:@before}"); w != strconv.Itoa(wide) {
			t.Errorf("behind %q the next column is at %s: %q", name, w, line)
		}
	}
}
