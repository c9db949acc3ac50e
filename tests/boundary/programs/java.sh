# SPDX-License-Identifier: Apache-2.0
# needs: java
# Processes, sockets, threads, files, a lock, a shutdown hook.
set -e
cat >All.java <<'J'
import java.io.*;
import java.net.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
public class All {
	public static void main(String[] a) throws Exception {
		Process p = new ProcessBuilder("sh", "-c", "echo $0 child; exit 4").redirectErrorStream(true).start();
		System.out.println(new String(p.getInputStream().readAllBytes()).trim() + " " + p.waitFor());
		Process s = new ProcessBuilder("sleep", "60").start(); s.destroy(); System.out.println("destroyed " + s.waitFor());
		ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		ExecutorService pool = Executors.newFixedThreadPool(16);
		pool.submit(() -> { for (int i = 0; i < 100; i++) { Socket c = server.accept(); pool.submit(() -> { c.getOutputStream().write(c.getInputStream().read()); c.close(); return null; }); } return null; });
		int sum = 0;
		for (int i = 0; i < 100; i++) try (Socket c = new Socket(server.getInetAddress(), server.getLocalPort())) { c.getOutputStream().write(i); sum += c.getInputStream().read(); }
		System.out.println("sockets " + sum);
		try (SocketChannel c = SocketChannel.open()) { c.connect(new InetSocketAddress("127.0.0.1", 1)); } catch (ConnectException e) { System.out.println(e.getMessage()); }
		ServerSocketChannel u = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of("/tmp/java.sock"));
		SocketChannel uc = SocketChannel.open(UnixDomainSocketAddress.of("/tmp/java.sock")); uc.write(java.nio.ByteBuffer.wrap(new byte[] { 5 }));
		java.nio.ByteBuffer b = java.nio.ByteBuffer.allocate(9); System.out.println("unix " + u.accept().read(b));
		Path f = Files.createTempFile("x", "y"); Files.writeString(f, "text");
		try (FileChannel c = FileChannel.open(f, StandardOpenOption.WRITE); FileLock l = c.lock()) { System.out.println("lock " + l.isValid()); }
		WatchService w = FileSystems.getDefault().newWatchService(); Path d = Files.createTempDirectory("w"); d.register(w, StandardWatchEventKinds.ENTRY_CREATE);
		Files.createFile(d.resolve("n")); System.out.println("watch " + w.poll(10, TimeUnit.SECONDS).pollEvents().get(0).context());
		ProcessHandle.current().children().forEach(c -> System.out.println("left " + c.pid()));
		Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
		System.exit(6);
	}
}
J
java All.java || echo "exit $?"
