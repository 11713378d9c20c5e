package localuser

import "testing"

func TestPasswd(t *testing.T) {
	const passwd = "# users\nroot:x:0:0:root:/root:/bin/bash\n+nis:x:7:7::/:/bin/sh\n-out:x:8:8::/:/bin/sh\nshort:x:9\n" +
		"ana:x:1001:1001::/home/ana:/bin/bash\nbo:x:01002:1002::/home/bo:/bin/bash\ntwin:x:1001:1001::/:/bin/sh\nodd:x:-1:1::/:/bin/sh\n:x:1003:1::/:/bin/sh\n"
	for uid, want := range map[string]string{"0": "root", "1001": "ana", "1002": "bo", "7": "", "8": "", "9": "", "1003": "", "54321": "", "-1": "", "": "", "ana": "", "4294968297": ""} {
		if got, known := passwdName([]byte(passwd), uid); got != want || known != (want != "") {
			t.Errorf("%q: %q, %v; want %q", uid, got, known, want)
		}
	}
}
