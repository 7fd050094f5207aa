package testdb

import (
	"io"
	"os/exec"
)

// watchdog ends the server of a folder and removes the folder, once its input ends. The other
// end of that pipe is open in the test binary alone, so the input ends with the test binary,
// however that happens. The server is ended with SIGQUIT: nobody wants its data. Waiting is
// bounded, because where no process reaps orphans a dead server still seems to be there.
const watchdog = `
read -r _
if pid=$(cat pid 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null; then
	n=0
	while [ $n -lt 200 ] && kill -0 "$pid" 2>/dev/null; do
		sleep 0.05
		n=$((n + 1))
	done
	kill -KILL "$pid" 2>/dev/null
fi
n=0
while [ $n -lt 200 ] && [ -e "$1" ]; do
	rm -rf "$1" 2>/dev/null || sleep 0.05
	n=$((n + 1))
done
`

// startWatchdog returns what keeps the watchdog of dir waiting as long as it is open, and a
// channel that is closed when the watchdog has done its work.
func startWatchdog(dir string, as *account) (io.Closer, <-chan struct{}, error) {
	cmd := exec.Command("sh", "-c", watchdog, "sh", dir)
	as.run(cmd)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // the folder tells whether it has worked
	}()
	return in, done, nil
}
